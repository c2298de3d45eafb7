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
        /// Since when there is no access; nil while there is.
        var endedAt: String?
        var willRenew = false
        var level = ""

        init() {}

        /// Takes a read's answer.
        init(_ answer: JSONValue) {
            let all = answer["entitlements"]?.array ?? []
            let active = all.filter { $0["active"]?.bool == true }
            let newest = (answer["subscriptions"]?.array ?? []).max {
                ($0["expiresAt"]?.string ?? "") < ($1["expiresAt"]?.string ?? "")
            }
            entitlements = active.compactMap { $0["id"]?.string }
            isActive = !active.isEmpty
            state = newest?["state"]?.string
            expiresAt = newest?["expiresAt"]?.string
            endedAt = isActive ? nil : all.compactMap { $0["validUntil"]?.string }.max()
            willRenew = newest?["willRenew"]?.bool ?? false
            level = answer["service"]?["level"]?.string ?? ""
        }

        var sentence: String {
            guard let state else { return "nothing bought yet" }
            // What is over has an end behind it, and not the one that was paid for if it was taken back.
            let time = isActive ? expiresAt.map { (" until ", $0) } : endedAt.map { (" since ", $0) }
            let when = time.map { "\($0.0)\($0.1.dropFirst(11).prefix(12))" } ?? ""
            let what = isActive ? "active: \(entitlements.joined(separator: ", "))" : "not active"
            return "\(what) (\(state)\(when)\(willRenew ? ", will renew" : ""))"
        }
    }

    let client: HTTPClient
    let url: String
    let key: String
    let app: String
    let environment: String

    func read(_ customer: String) async throws -> Reading {
        Reading(try await client.json(.get, address(of: customer), key: key))
    }

    func address(of customer: String) -> String {
        "\(url)/v1/apps/\(app)/customers/\(customer)/entitlements?environment=\(environment)"
    }
}
