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
