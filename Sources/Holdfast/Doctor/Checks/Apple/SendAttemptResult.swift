/// What became of Apple's try to deliver a notification, in Apple's word, and what to do about it.
struct SendAttemptResult {
    let word: String

    init(_ word: String?) { self.word = word ?? "nothing" }

    /// `url` is what App Store Connect should have.
    func finding(url: String) -> Finding {
        let (sentence, remedy) =
            Self.meanings[word] ?? ("for a reason that is not known here", "Look at Apple's documents.")
        return .wrong("Apple could not deliver it: \(sentence) (\(word))", remedy, "It should be: \(url)")
    }

    static let meanings: [String: (sentence: String, remedy: String)] = [
        "TIMED_OUT": (
            "no answer in time",
            "Does a firewall drop what comes from 17.0.0.0/8? Does the gateway, or the proxy before it, answer within a second?"
        ),
        "TLS_ISSUE": (
            "the TLS handshake failed",
            "The certificate must be in date, name the host, come from a public authority, with its intermediates; TLS 1.2 or newer."
        ),
        "CIRCULAR_REDIRECT": (
            "the URL redirects in a circle",
            "Give App Store Connect the final https URL; look at the proxy's redirects."
        ),
        "NO_RESPONSE": (
            "it connected and nobody answered", "Is the gateway up behind its proxy? See the line on the gateway."
        ),
        "SOCKET_ISSUE": (
            "it could not connect",
            "Does the host's name point here? Is the port open from outside (17.0.0.0/8)? Is the gateway up?"
        ),
        "UNSUPPORTED_CHARSET": (
            "the answer has a charset that Apple does not know",
            "Something else than Holdfast answered: look at the proxy, and at the host's name."
        ),
        "INVALID_RESPONSE": (
            "the answer is no HTTP",
            "Something else listens on that port, or speaks TLS where it should not: look at the URL and the proxy."
        ),
        "PREMATURE_CLOSE": (
            "the connection ended before the answer did",
            "A proxy or a firewall cut it, or the gateway was stopped meanwhile: look at their logs."
        ),
        "UNSUCCESSFUL_HTTP_RESPONSE_CODE": (
            "the answer was not 2xx",
            "404: the path is wrong. 403: the signature is refused (/refused on the operators' listener says why). 503: neither "
                + "RabbitMQ nor the spool takes it. The gateway's log has it."
        ),
        "OTHER": ("Apple does not say why", "Try again; then look at the gateway's and the proxy's logs."),
    ]
}
