import Entitlements
import HTTP
import JSON

/// How Apple does for the gateway or the consumer of this machine, by their own calls, and not by the doctor's.
struct AppleHealthCheck: Check {
    var name: String { "apple, \(role.rawValue)" }
    let role: ListenerCheck.Role
    let address: String
    let patient: Patient

    func examine() async -> Finding {
        guard let url = ListenerCheck.url(address) else { return .notChecked("it takes any free port (\(address))") }
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await patient.http.send(HTTPClientRequest(.get, "\(url)/apple"))
        } catch { return .notChecked("no \(role.rawValue) answers at \(address)") }
        guard response.status == 200, let answer = try? JSONValue.parse(response.body),
            let stores = answer["stores"]?.array
        else { return .notChecked("\(url)/apple answers \(response.status): another version, or not Holdfast's") }
        let named = Set(patient.apps.map(\.id.rawValue))
        let asked = stores.filter { store in
            store["hasKey"]?.bool == true && store["app"]?.string.map(named.contains) ?? false
        }
        guard !asked.isEmpty else { return .notChecked("without a key nobody asks Apple (apps.<id>.serverAPI)") }
        return .of(asked.map(finding), otherwise: asked.map(sentence).joined(separator: "; "))
    }

    private func scope(_ store: JSONValue) -> String {
        "\(store["app"]?.string ?? "") \(store["environment"]?.string ?? "")"
    }

    private func sentence(_ store: JSONValue) -> String {
        guard store["health"]?.string != "notAsked" else { return "\(scope(store)) not asked yet" }
        return "\(scope(store)) fine, last answer \(store["lastGoodCall"]?.string ?? "never")"
    }

    private func finding(_ store: JSONValue) -> Finding {
        let since = store["outageBegan"]?.string.map { " since \($0)" } ?? ""
        let cause = store["cause"]?.string.map { ": \($0)" } ?? ""
        let remedy = "Reads go on, at level A or B; Apple's own state: https://developer.apple.com/system-status"
        switch store["health"]?.string {
        case "unreachable": return .unreachable("\(scope(store)) unreachable\(since)\(cause)", remedy)
        case "degraded": return .warning("\(scope(store)) slow or failing\(since)\(cause)", remedy)
        default: break
        }
        if let refused = store["keyRefusedSince"]?.string {
            return .warning(
                "\(scope(store)): Apple has refused the key since \(refused); that is no outage",
                "See the line apple, \(scope(store)).")
        }
        return .fine(sentence(store))
    }
}
