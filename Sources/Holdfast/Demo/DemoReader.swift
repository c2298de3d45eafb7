import HTTP
import JSON
import Time

/// Reads entitlements as an app backend does.
struct DemoReader {
    /// What a read answered, as far as the demonstration shows it.
    struct Reading: Equatable {
        var entitlements: [String] = []
        var isActive = false
        /// The state of the newest subscription; nil when there is none.
        var state: String?
        var expiresAt: String?
        var willRenew = false
        var level = ""

        var sentence: String {
            let until = expiresAt.map { " until \($0.dropFirst(11).prefix(12))" } ?? ""
            guard let state else { return "nothing bought yet" }
            let what = isActive ? "active: \(entitlements.joined(separator: ", "))" : "not active"
            return "\(what) (\(state)\(until)\(willRenew ? ", will renew" : ""))"
        }
    }

    let client: HTTPClient
    let url: String
    let key: String
    let app: String
    let environment: String

    func read(_ customer: String) async throws -> Reading {
        let answer = try await client.json(.get, address(of: customer), key: key)
        let active = (answer["entitlements"]?.array ?? []).filter { $0["active"]?.bool == true }
        let newest = (answer["subscriptions"]?.array ?? []).max {
            ($0["expiresAt"]?.string ?? "") < ($1["expiresAt"]?.string ?? "")
        }
        return Reading(
            entitlements: active.compactMap { $0["id"]?.string }, isActive: !active.isEmpty,
            state: newest?["state"]?.string, expiresAt: newest?["expiresAt"]?.string,
            willRenew: newest?["willRenew"]?.bool ?? false, level: answer["service"]?["level"]?.string ?? "")
    }

    func address(of customer: String) -> String {
        "\(url)/v1/apps/\(app)/customers/\(customer)/entitlements?environment=\(environment)"
    }
}
