import AppStore
import Entitlements
import JSON

/// The table of endpoints for `holdfast api --list`.
enum APIListing {
    static var text: String {
        ServerAPIEndpoint.allCases.map { endpoint in
            let path = endpoint.fields.filter { $0.place == .path }.map { " \($0.name)" }.joined()
            let rate = endpoint.group.callsPerSecond(in: .production)
            let limits = "\(plain(rate))/s, sandbox \(plain(endpoint.group.callsPerSecond(in: .sandbox)))/s"
            var lines = [
                "\(endpoint.name)\(path)", "    \(endpoint.summary)\(endpoint.isSandboxOnly ? " (sandbox only)" : "")",
                "    \(endpoint.method.rawValue) \(endpoint.path)  (\(limits))",
            ]
            for field in endpoint.fields where field.place != .path {
                let notes =
                    (field.isRequired && field.kind != .uuidOrEmpty ? ", needed" : "")
                    + (field.repeats ? ", repeatable" : "")
                lines.append("    --\(field.name): \(field.expectation)\(notes)")
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n\n")
    }

    static var json: String {
        var json = JSONWriter()
        json.beginArray()
        for endpoint in ServerAPIEndpoint.allCases {
            json.beginObject()
            json.member("name", endpoint.name)
            json.member("summary", endpoint.summary)
            json.member("method", endpoint.method.rawValue)
            json.member("path", endpoint.path)
            json.member("group", "\(endpoint.group)")
            json.member("paged", endpoint.pageKey != nil)
            json.member("sandboxOnly", endpoint.isSandboxOnly)
            json.array("parameters", endpoint.fields) { json, field in
                json.beginObject()
                json.member("name", field.name)
                json.member("place", "\(field.place)")
                json.member("required", field.isRequired)
                json.member("repeatable", field.repeats)
                json.member("expects", field.expectation)
                json.endObject()
            }
            json.endObject()
        }
        json.endArray()
        return json.text
    }

    private static func plain(_ rate: Double) -> String {
        rate == rate.rounded() ? "\(Int(rate))" : "\(rate)"
    }
}
