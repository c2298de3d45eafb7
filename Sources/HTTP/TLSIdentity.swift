/// What the server shows of itself over TLS; replaced as a whole on reload.
final class TLSIdentity: Sendable {
}
