import HTTP
import JSON
import Time

/// What the drill asks of the simulator beyond what the demonstration does.
extension SimulatorClient {
    /// Something that happened to an account, and what it may use since.
    struct Change {
        let sequence: UInt64
        let time: Timestamp
        let account: String
        let name: String
        let state: KnownState
        let lineages: [TrueLineage]
        /// What the simulator does with the notification of it.
        let fate: LagLedger.Fate
    }

    /// Everything that happened after the event numbered `sequence`, and until when that is all.
    func changes(after sequence: UInt64) async throws -> (changes: [Change], last: UInt64, until: Timestamp?) {
        let limit = 2000
        let answer = try await client.json(
            .get, "\(url)/control/events?after=\(sequence)&limit=\(limit)&truth=true")
        let events = answer["events"]?.array ?? []
        let changes = try events.compactMap { event -> Change? in
            guard let truth = event["truth"]?.array, let account = event["account"]?.string else { return nil }
            guard let number = event["sequence"]?.int64, let name = event["event"]?.string,
                let time = event["time"]?.string.flatMap({ Timestamp(rfc3339: $0) })
            else { throw DemoError("the simulator tells an event that this version cannot read") }
            return Change(
                sequence: UInt64(clamping: number), time: time, account: account, name: name,
                state: try KnownState(truth: truth), lineages: try truth.map(TrueLineage.init),
                fate: event["fate"]?.string.flatMap(LagLedger.Fate.init) ?? .sent)
        }
        let last = UInt64(clamping: answer["last"]?.int64 ?? Int64(clamping: sequence))
        // A full page may not be the last one.
        let until = events.count < limit ? answer["time"]?.string.flatMap { Timestamp(rfc3339: $0) } : nil
        return (changes, last, until)
    }

    /// What every account has now.
    func truth() async throws -> [TrueLineage] {
        try await client.json(.get, "\(url)/control/truth")["truth"]?.array.map { try $0.map(TrueLineage.init) } ?? []
    }

    /// What has been asked of the Server API so far.
    func calls() async throws -> CallFigures { CallFigures(try await client.json(.get, "\(url)/control/calls")) }

    /// How much faster than Apple's its clock is.
    func speed() async throws -> Double {
        guard let speed = try await client.json(.get, "\(url)/control")["speed"]?.double else {
            throw DemoError("the simulator does not say its speed")
        }
        return speed
    }

    /// Makes the store behave badly, or well again: the body of `PUT /control/behaviour`.
    func behave(_ behaviour: String) async throws {
        _ = try await client.json(.put, "\(url)/control/behaviour", body: behaviour)
    }

    /// What `account` does, with any body; false when the store will not have it, as by then something else happened.
    func tries(_ command: String, for account: String, body: String = "{}") async throws -> Bool {
        let response = try await client.send(
            .init(
                .post, "\(url)/control/accounts/\(account)/\(command)", headers: ["Content-Type": "application/json"],
                body: Array(body.utf8)))
        switch response.status {
        case 200..<300: return true
        case 409: return false
        default:
            throw DemoError("\(command): \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
    }
}
