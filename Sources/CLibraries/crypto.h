// OpenSSL's libcrypto, and what of it are macros that Swift cannot see.
#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// A new random key on a named curve, or NULL.
static inline EVP_PKEY *hf_generate_ec_key(const char *curve) {
    return EVP_EC_gen(curve);
}

/// A name as `CN=…, O=…` in UTF-8, control characters escaped; returns the length, at most size - 1, or -1.
static inline int hf_name_text(const X509_NAME *name, char *text, int size) {
    BIO *memory = BIO_new(BIO_s_mem());
    if (memory == NULL) return -1;
    int length = -1;
    unsigned long flags = XN_FLAG_SEP_CPLUS_SPC | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT;
    if (X509_NAME_print_ex(memory, name, 0, flags) >= 0) length = BIO_read(memory, text, size - 1);
    BIO_free(memory);
    return length;
}
