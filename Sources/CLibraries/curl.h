// libcurl's multi interface; its variadic setters take one shape each here.
#pragma once
#include <curl/curl.h>
#include <stdbool.h>

static inline CURLcode holdfast_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode holdfast_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode holdfast_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

/// libcurl copies the bytes; `size` may be 0.
static inline CURLcode holdfast_curl_set_body(CURL *easy, const void *bytes, curl_off_t size) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, size);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, size == 0 ? "" : (const char *)bytes);
}

static inline CURLcode holdfast_curl_set_headers(CURL *easy, struct curl_slist *headers) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

static inline CURLcode holdfast_curl_set_sink(
    CURL *easy, curl_write_callback body, curl_write_callback header, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    return code;
}

static inline CURLcode holdfast_curl_set_error_buffer(CURL *easy, char *buffer) {
    return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}

static inline long holdfast_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

static inline CURLMcode holdfast_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode holdfast_curl_multi_set_callbacks(
    CURLM *multi, curl_socket_callback on_socket, curl_multi_timer_callback on_timer, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return code;
}

/// The next transfer that has ended, and how; false when there is none.
static inline bool holdfast_curl_multi_next_done(CURLM *multi, CURL **easy, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *easy = message->easy_handle;
        *result = message->data.result;
        return true;
    }
    return false;
}
