// hiredis, synchronous for setting up and asynchronous for work.
#pragma once
#include <sys/time.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
