import HTTP
import JSON

/// Whether the gateway or the consumer of this machine is up and what it says of itself.
struct ListenerCheck: Check {
    enum Role: String { case gateway, consumer }

    let role: Role
    let address: String
    let patient: Patient
    var name: String { role.rawValue }

    func examine() async -> Finding {
        guard let url = Self.url(address) else { return .notChecked("it takes any free port (\(address))") }
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await patient.http.send(HTTPClientRequest(.get, "\(url)/readyz"))
        } catch {
            guard error.code == .unreachable else {
                return .wrong(
                    "\(url)/readyz does not answer (\(error.detail))",
                    "It hangs, or something else listens there. Its log says more; so does top.")
            }
            return .warning(
                "nothing listens at \(address): no \(role.rawValue) runs on this machine with these settings",
                "holdfast \(role.rawValue) --settings \(patient.path); or ask the doctor on the machine where it runs.")
        }
        guard let answer = try? JSONValue.parse(response.body), let isReady = answer["ready"]?.bool else {
            return .wrong(
                "\(url)/readyz answers \(response.status), and is not Holdfast's",
                "Something else listens there: ss -ltnp shows what. Give \(role.rawValue).operations.address another port."
            )
        }
        let parts = answer.object?.members.compactMap { member -> String? in
            guard member.key != "ready" else { return nil }
            if let isFine = member.value.bool { return "\(member.key) \(isFine ? "fine" : "not")" }
            return member.value.int64.map { "\(member.key) \($0)" }
        }
        let sentence = "at \(url): \((parts ?? []).joined(separator: ", "))"
        guard isReady else {
            return .wrong("not ready, \(sentence)", "The lines on RabbitMQ, Redis and the spool say why; then its log.")
        }
        if let waiting = answer["spooledRecords"]?.int64, waiting > 0 {
            return .warning(
                "\(waiting) notifications wait in the spool, \(sentence)",
                "They go to RabbitMQ by themselves once it takes them; until then they are not in answers.")
        }
        if role == .gateway, answer["store"]?.bool == false {
            return .warning("answers are of level A or B, \(sentence)", "The lines on Redis say why.")
        }
        return .fine(sentence)
    }

    /// Where to ask a listener; nil if that cannot be known.
    static func url(_ address: String) -> String? {
        guard let colon = address.lastIndex(of: ":") else { return nil }
        let (host, port) = (address[..<colon], address[address.index(after: colon)...])
        guard port != "0" else { return nil }
        let reachable = host == "0.0.0.0" ? "127.0.0.1" : host == "[::]" ? "[::1]" : String(host)
        return "http://\(reachable):\(port)"
    }
}
