// OpenSSL's libcrypto, and what of it are macros that Swift cannot see.
#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
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

/// The n-th OCSP address of a certificate's authority information access, or NULL; hf_free_text frees it.
static inline char *hf_ocsp_address(X509 *certificate, int n) {
    STACK_OF(OPENSSL_STRING) *addresses = X509_get1_ocsp(certificate);
    char *found = NULL;
    if (addresses != NULL && n < sk_OPENSSL_STRING_num(addresses)) {
        found = OPENSSL_strdup(sk_OPENSSL_STRING_value(addresses, n));
    }
    X509_email_free(addresses);
    return found;
}

static inline void hf_free_text(char *text) {
    OPENSSL_free(text);
}

/// Certificates that an OCSP answer brings along.
static inline int hf_ocsp_certificate_count(const OCSP_BASICRESP *answer) {
    const STACK_OF(X509) *certificates = OCSP_resp_get0_certs(answer);
    return certificates == NULL ? 0 : sk_X509_num(certificates);
}

/// The n-th of them, still the answer's own; NULL beyond the last.
static inline X509 *hf_ocsp_certificate(const OCSP_BASICRESP *answer, int n) {
    const STACK_OF(X509) *certificates = OCSP_resp_get0_certs(answer);
    return certificates == NULL ? NULL : sk_X509_value(certificates, n);
}

/// Whether the answer names `signer` as its responder and carries its signature. Whether `signer` may do so is not
/// asked here.
static inline int hf_ocsp_is_signed_by(OCSP_BASICRESP *answer, X509 *signer) {
    STACK_OF(X509) *only = sk_X509_new_null();
    if (only == NULL) return 0;
    int good = sk_X509_push(only, signer) > 0
        && OCSP_basic_verify(answer, only, NULL, OCSP_NOINTERN | OCSP_NOVERIFY) == 1;
    sk_X509_free(only);
    return good;
}
