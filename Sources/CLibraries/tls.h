// OpenSSL's libssl, and what of it are macros that Swift cannot see.
#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

// A key with a passphrase is refused; OpenSSL would ask the terminal otherwise.
static inline int holdfast_no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

// Chooses http/1.1 by ALPN; a client that offers only other protocols is refused, as RFC 7301 has it.
static inline int holdfast_select_http11(
    SSL *session, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
    unsigned int offered_length, void *context) {
    (void)session, (void)context;
    static const unsigned char http11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    int found = SSL_select_next_proto(
        (unsigned char **)chosen, length, http11, sizeof http11, offered, offered_length);
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// A context for servers: TLS 1.2 and 1.3, forward secrecy and AEAD only, no renegotiation, no session store.
static inline SSL_CTX *holdfast_tls_server_context(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE
            | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(context, holdfast_no_passphrase);
    SSL_CTX_set_alpn_select_cb(context, holdfast_select_http11, NULL);
    if (SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

/// The server's end of a connection, over two memory BIOs that the session owns.
static inline SSL *holdfast_tls_server_session(SSL_CTX *context) {
    SSL *session = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem());
    BIO *out = BIO_new(BIO_s_mem());
    if (session == NULL || in == NULL || out == NULL) {
        SSL_free(session);
        BIO_free(in);
        BIO_free(out);
        return NULL;
    }
    SSL_set_bio(session, in, out);
    SSL_set_accept_state(session);
    return session;
}

/// How many certificates follow the leaf in the file that was read.
static inline int holdfast_tls_chain_length(SSL_CTX *context) {
    STACK_OF(X509) *chain = NULL;
    if (SSL_CTX_get0_chain_certs(context, &chain) != 1 || chain == NULL) return 0;
    return sk_X509_num(chain);
}
