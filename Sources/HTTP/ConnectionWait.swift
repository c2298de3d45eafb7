/// What of a connection has a deadline. A new value means a new deadline.
struct ConnectionWait: Equatable {
    enum Kind { case header, body, idle, write, linger }
    let kind: Kind
    /// Which request, or which piece of an answer.
    let number: Int

    init(_ kind: Kind, _ number: Int = 0) {
        self.kind = kind
        self.number = number
    }

    func limit(by settings: HTTPServerSettings) -> Duration {
        switch kind {
        case .header: settings.headerDeadline
        case .body: settings.bodyDeadline
        case .idle: settings.idleDeadline
        case .write: settings.writeDeadline
        case .linger: settings.lingerDeadline
        }
    }
}
