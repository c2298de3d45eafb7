/// What of the topology is not as the settings have it.
package struct TopologyDifference: Sendable, Hashable {
    package enum Kind: String, Sendable { case exchange, queue }

    package enum Fault: Sendable, Hashable {
        case missing
        /// It was made with other arguments, and those cannot be changed.
        case argument(String, expected: String, actual: String)
        /// It exists, and RabbitMQ cannot reach it; in its words.
        case unavailable(String)
        /// We may not configure it; in RabbitMQ's words.
        case forbidden(String)
    }

    package let kind: Kind
    package let name: String
    package let fault: Fault

    package init(_ kind: Kind, _ name: String, _ fault: Fault) {
        self.kind = kind
        self.name = name
        self.fault = fault
    }
}

/// What RabbitMQ says when a queue or an exchange exists with another argument:
/// `inequivalent arg 'x-max-length' for queue 'q' in vhost '/': received '5' but current is '10'`.
struct Inequivalence: Hashable {
    /// A value in RabbitMQ's words: `none`, `'5'` or `the value '5' of type 'signedint'`.
    struct Value: Hashable {
        /// Nil when the argument is not given.
        let text: String?
        /// AMQP's type, if it was said.
        let type: String?

        init(_ words: Substring) {
            let quoted = words.split(separator: "'", omittingEmptySubsequences: false)
            text = words.hasPrefix("none") ? nil : quoted.count > 1 ? String(quoted[1]) : String(words)
            type = quoted.count > 3 ? String(quoted[3]) : nil
        }

        var shown: String { text.map { $0.isEmpty ? "''" : $0 } ?? "none" }
    }

    let argument: String
    let received: Value
    let current: Value

    init?(_ detail: String) {
        guard let argument = detail.between("inequivalent arg '", "'"),
            let received = detail.between(": received ", " but current is "),
            let current = detail.after(" but current is ")
        else { return nil }
        self.argument = String(argument)
        self.received = Value(received)
        self.current = Value(current)
    }
}

extension String {
    fileprivate func after(_ mark: String) -> Substring? {
        var rest = self[...]
        while !rest.isEmpty {
            if rest.hasPrefix(mark) { return rest.dropFirst(mark.count) }
            rest = rest.dropFirst()
        }
        return nil
    }

    fileprivate func between(_ start: String, _ end: String) -> Substring? {
        guard let rest = after(start), let tail = String(rest).after(end) else { return nil }
        return rest.dropLast(tail.count + end.count)
    }
}
