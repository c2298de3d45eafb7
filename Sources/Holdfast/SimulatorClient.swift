import HTTP
import JSON

/// The simulator's control API, as far as the demonstration uses it.
struct SimulatorClient {
    struct Event {
        let sequence: UInt64
        let name: String
        let productID: String?
        let result: String?
    }

    let client: HTTPClient
    let url: String

    func createAccount() async throws -> String {
        let answer = try await client.json(.post, "\(url)/control/accounts", body: "{}")
        guard let account = answer["account"]?.string else { throw DemoError("the simulator named no account") }
        return account
    }

    /// What `account` does: `buy`, `cancel`, `refund`.
    func perform(_ command: String, for account: String, product: String? = nil) async throws {
        var body = JSONWriter()
        body.beginObject()
        if let product { body.member("productId", product) }
        body.endObject()
        _ = try await client.json(.post, "\(url)/control/accounts/\(account)/\(command)", body: body.text)
    }

    /// What happened to `account` after the event numbered `sequence`.
    func events(after sequence: UInt64, account: String) async throws -> [Event] {
        let answer = try await client.json(.get, "\(url)/control/events?after=\(sequence)&limit=1000")
        return (answer["events"]?.array ?? []).compactMap { event in
            guard event["account"]?.string == account, let number = event["sequence"]?.int64 else { return nil }
            return Event(
                sequence: UInt64(clamping: number), name: event["event"]?.string ?? "",
                productID: event["productId"]?.string, result: event["result"]?.string)
        }
    }
}

struct DemoError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension HTTPClient {
    /// Sends JSON and expects JSON and a status of 2xx.
    func json(
        _ method: HTTPClientRequest.Method, _ url: String, key: String? = nil, body: String = ""
    ) async throws -> JSONValue {
        var headers = HTTPHeaders()
        if let key { headers.set("Authorization", "Bearer \(key)") }
        if !body.isEmpty { headers.set("Content-Type", "application/json") }
        let response = try await send(HTTPClientRequest(method, url, headers: headers, body: Array(body.utf8)))
        guard 200..<300 ~= response.status else {
            throw DemoError(
                "\(method.rawValue) \(url): \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
        return try JSONValue.parse(response.body)
    }
}
