// OpenSSL's libcrypto, and what of it are macros that Swift cannot see.
#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/cms.h>
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

// CMS, of which the lists are macros.

static inline int hf_cms_signer_count(CMS_ContentInfo *cms) {
    return sk_CMS_SignerInfo_num(CMS_get0_SignerInfos(cms));
}

static inline int hf_cms_signer_digest(CMS_ContentInfo *cms) {
    X509_ALGOR *digest = NULL;
    CMS_SignerInfo *signer = sk_CMS_SignerInfo_value(CMS_get0_SignerInfos(cms), 0);
    if (signer != NULL) CMS_SignerInfo_get0_algs(signer, NULL, NULL, &digest, NULL);
    return digest == NULL ? NID_undef : OBJ_obj2nid(digest->algorithm);
}

static inline int hf_cms_certificate_count(CMS_ContentInfo *cms) {
    STACK_OF(X509) *certificates = CMS_get1_certs(cms);
    int count = certificates == NULL ? 0 : sk_X509_num(certificates);
    sk_X509_pop_free(certificates, X509_free);
    return count;
}

/// The DER form of one certificate, in the manner of the i2d functions.
static inline int hf_cms_certificate_der(CMS_ContentInfo *cms, int index, unsigned char **out) {
    STACK_OF(X509) *certificates = CMS_get1_certs(cms);
    int length = certificates == NULL ? -1 : i2d_X509(sk_X509_value(certificates, index), out);
    sk_X509_pop_free(certificates, X509_free);
    return length;
}

/// Which certificate the first signer names, or -1.
static inline int hf_cms_signer_certificate(CMS_ContentInfo *cms) {
    STACK_OF(X509) *certificates = CMS_get1_certs(cms);
    CMS_SignerInfo *signer = sk_CMS_SignerInfo_value(CMS_get0_SignerInfos(cms), 0);
    int found = -1;
    for (int index = 0; signer != NULL && index < sk_X509_num(certificates) && found < 0; index++)
        if (CMS_SignerInfo_cert_cmp(signer, sk_X509_value(certificates, index)) == 0) found = index;
    sk_X509_pop_free(certificates, X509_free);
    return found;
}

/// Whether content and signed attributes are signed by that certificate; says nothing of whether it is to be trusted.
static inline int hf_cms_is_signed_by(CMS_ContentInfo *cms, int index) {
    STACK_OF(X509) *certificates = CMS_get1_certs(cms);
    STACK_OF(X509) *only = sk_X509_new_null();
    X509 *signer = sk_X509_value(certificates, index);
    unsigned int flags = CMS_NOINTERN | CMS_NO_SIGNER_CERT_VERIFY | CMS_BINARY;
    int good = signer != NULL && only != NULL && sk_X509_push(only, signer) > 0
        && CMS_verify(cms, only, NULL, NULL, NULL, flags) == 1;
    sk_X509_free(only);
    sk_X509_pop_free(certificates, X509_free);
    return good;
}

/// Signs `content` as Apple signs receipts, DER or (streamed) BER with indefinite lengths; the certificates are DER, one
/// after the other, the signer's first. Returns a memory BIO with the message, or NULL.
static inline BIO *hf_cms_sign(
    const unsigned char *content, int length, const unsigned char *certificates, long certificatesLength,
    const unsigned char *key, long keyLength, const char *digest, int hasAttributes, int isStreamed) {
    STACK_OF(X509) *others = sk_X509_new_null();
    const unsigned char *position = certificates;
    while (others != NULL && position < certificates + certificatesLength) {
        X509 *one = d2i_X509(NULL, &position, certificates + certificatesLength - position);
        if (one == NULL) break;
        sk_X509_push(others, one);
    }
    const unsigned char *keyPosition = key;
    EVP_PKEY *pkey = d2i_AutoPrivateKey(NULL, &keyPosition, keyLength);
    BIO *in = BIO_new_mem_buf(content, length), *out = BIO_new(BIO_s_mem());
    X509 *signer = sk_X509_value(others, 0);
    unsigned int flags = CMS_BINARY | CMS_PARTIAL | (isStreamed ? CMS_STREAM : 0);
    CMS_ContentInfo *cms = CMS_sign(NULL, NULL, NULL, in, flags);
    int good = signer != NULL && pkey != NULL && in != NULL && out != NULL && cms != NULL;
    unsigned int signerFlags = CMS_BINARY | CMS_NOCERTS | CMS_NOSMIMECAP | (hasAttributes ? 0 : CMS_NOATTR);
    good = good && CMS_add1_signer(cms, signer, pkey, EVP_get_digestbyname(digest), signerFlags) != NULL;
    for (int index = 0; good && index < sk_X509_num(others); index++)
        good = CMS_add1_cert(cms, sk_X509_value(others, index)) == 1;
    if (good && isStreamed) good = i2d_CMS_bio_stream(out, cms, in, flags) == 1;
    else good = good && CMS_final(cms, in, NULL, flags) == 1 && i2d_CMS_bio(out, cms) == 1;
    CMS_ContentInfo_free(cms);
    BIO_free(in);
    EVP_PKEY_free(pkey);
    sk_X509_pop_free(others, X509_free);
    if (good) return out;
    BIO_free(out);
    return NULL;
}
