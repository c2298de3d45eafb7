// libcurl's multi interface; its variadic setters take one shape each here.
#pragma once
#include <curl/curl.h>
