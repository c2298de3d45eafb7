// OpenSSL's libssl, and what of it are macros that Swift cannot see.
#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
