// librabbitmq, and what of it Swift imports badly.
#pragma once
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

// Method numbers are macros with casts, which Swift does not import.
static const uint32_t HOLDFAST_CONNECTION_CLOSE = AMQP_CONNECTION_CLOSE_METHOD;
static const uint32_t HOLDFAST_CONNECTION_BLOCKED = AMQP_CONNECTION_BLOCKED_METHOD;
static const uint32_t HOLDFAST_CONNECTION_UNBLOCKED = AMQP_CONNECTION_UNBLOCKED_METHOD;
static const uint32_t HOLDFAST_CHANNEL_CLOSE = AMQP_CHANNEL_CLOSE_METHOD;
static const uint32_t HOLDFAST_CHANNEL_CLOSE_OK = AMQP_CHANNEL_CLOSE_OK_METHOD;
static const uint32_t HOLDFAST_BASIC_ACK = AMQP_BASIC_ACK_METHOD;
static const uint32_t HOLDFAST_BASIC_NACK = AMQP_BASIC_NACK_METHOD;
static const uint32_t HOLDFAST_BASIC_RETURN = AMQP_BASIC_RETURN_METHOD;
static const uint32_t HOLDFAST_BASIC_DELIVER = AMQP_BASIC_DELIVER_METHOD;
static const uint32_t HOLDFAST_BASIC_CANCEL = AMQP_BASIC_CANCEL_METHOD;
static const uint32_t HOLDFAST_BASIC_GET_EMPTY = AMQP_BASIC_GET_EMPTY_METHOD;

/// amqp_login_with_properties is variadic. Says that we understand connection.blocked and the cancelling of consumers,
/// which the server tells only those who do.
static inline amqp_rpc_reply_t holdfast_amqp_login(
    amqp_connection_state_t state, const char *vhost, int frame_max, int heartbeat, const char *user,
    const char *password, const char *name) {
    amqp_table_entry_t capabilities[2];
    capabilities[0].key = amqp_cstring_bytes("connection.blocked");
    capabilities[0].value.kind = AMQP_FIELD_KIND_BOOLEAN;
    capabilities[0].value.value.boolean = 1;
    capabilities[1].key = amqp_cstring_bytes("consumer_cancel_notify");
    capabilities[1].value.kind = AMQP_FIELD_KIND_BOOLEAN;
    capabilities[1].value.value.boolean = 1;
    amqp_table_entry_t entries[2];
    entries[0].key = amqp_cstring_bytes("capabilities");
    entries[0].value.kind = AMQP_FIELD_KIND_TABLE;
    entries[0].value.value.table.num_entries = 2;
    entries[0].value.value.table.entries = capabilities;
    entries[1].key = amqp_cstring_bytes("connection_name");
    entries[1].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[1].value.value.bytes = amqp_cstring_bytes(name);
    amqp_table_t properties = {2, entries};
    return amqp_login_with_properties(
        state, vhost, 1, frame_max, heartbeat, &properties, AMQP_SASL_METHOD_PLAIN, user, password);
}

/// Whether the kernel would take something to send now.
static inline int holdfast_is_writable(int fd) {
    struct pollfd poll_fd = {fd, POLLOUT, 0};
    return poll(&poll_fd, 1, 0) > 0;
}

/// Gives up a connection whose peer's kernel has been silent about sent data for that long.
static inline int holdfast_set_user_timeout(int fd, unsigned int milliseconds) {
    return setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}
