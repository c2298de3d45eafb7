import Entitlements
import HTTP
import JSON
import Runtime
import TestSupport
import Testing

@testable import Gateway

@Suite("Keys and settings")
struct KeyTests {
    private let keys = BearerKeys([
        BearerKey(name: "demo", key: "correct-horse-battery", scopes: [.read], apps: [AppID("demo")]),
        BearerKey(name: "all", key: "staple-staple-staple", scopes: [.read, .support]),
        BearerKey(name: "writer", key: "writer-writer-writer", scopes: [.write]),
    ])

    private func outcome(_ headers: HTTPHeaders, _ scope: KeyScope = .read, _ app: String = "demo") -> String {
        let head = HTTPRequestHead(method: "GET", path: "/", headers: headers)
        switch keys.authorize(head, scope, for: AppID(app)) {
        case .success(let key): return key.name
        case .failure(let error):
            return "\(error.problem.name.status) \(error.problem.headers["WWW-Authenticate"] ?? "")"
        }
    }

    @Test func aKeyOpensWhatItsScopesSay() {
        #expect(outcome(["Authorization": "Bearer correct-horse-battery"]) == "demo")
        #expect(outcome(["authorization": "bearer  staple-staple-staple"]) == "all")
        #expect(outcome(["Authorization": "Bearer staple-staple-staple"], .support, "other") == "all")
    }

    @Test func aKeyOpensNothingElse() {
        let denied = "403 Bearer error=\"insufficient_scope\", scope=\"read\""
        #expect(outcome(["Authorization": "Bearer correct-horse-battery"], .read, "other") == denied)
        #expect(outcome(["Authorization": "Bearer writer-writer-writer"]) == denied)
    }

    @Test(
        arguments: [
            [:], ["Authorization": ""], ["Authorization": "Bearer"], ["Authorization": "Bearer "],
            ["Authorization": "Basic correct-horse-battery"],
        ] as [HTTPHeaders])
    func withoutAKeyOneIsAskedFor(_ headers: HTTPHeaders) {
        #expect(outcome(headers) == "401 Bearer")
    }

    @Test(arguments: ["correct-horse-batterz", "correct-horse-batter", "correct-horse-battery ", "é"])
    func anUnknownKeyIsRefused(_ key: String) {
        #expect(outcome(["Authorization": "Bearer \(key)"]) == "401 Bearer error=\"invalid_token\"")
    }

    // MARK: Settings

    private func settings(_ text: String) throws -> GatewaySettings {
        var reader = SettingsReader(file: try JSONValue.parse(Array(text.utf8)), environment: [:])
        let settings = GatewaySettings(&reader)
        try reader.finish()
        return settings
    }

    @Test func keysComeFromTheSettings() throws {
        let digest = BearerKey.digest(of: Array("correct-horse-battery".utf8)).reduce("") {
            $0 + ($1 < 16 ? "0" : "") + String($1, radix: 16)
        }
        let settings = try settings(
            """
            {"keys": {"backend": {"digest": "\(digest)", "scopes": ["read", "write"], "apps": ["demo"]},
                      "support": {"secret": "staple-staple-staple", "scopes": ["support"]}},
             "spool": {"folder": "/var/lib/holdfast/spool", "maxBytes": "1GiB"},
             "gateway": {"brokerLimit": "750ms"}}
            """)
        #expect(
            settings.keys == [
                BearerKey(
                    name: "backend", key: "correct-horse-battery", scopes: [.read, .write], apps: [AppID("demo")]),
                BearerKey(name: "support", key: "staple-staple-staple", scopes: [.support]),
            ])
        #expect(settings.spool.folder == "/var/lib/holdfast/spool")
        #expect(settings.spool.maxBytes == 1 << 30)
        #expect(settings.brokerLimit == .milliseconds(750))
    }

    @Test(arguments: [
        ("{\"keys\": {\"a\": {\"secret\": \"short\"}}}", "keys.a.secret"),
        ("{\"keys\": {\"a\": {}}}", "keys.a.secret"),
        ("{\"keys\": {\"a\": {\"digest\": \"abc\"}}}", "keys.a.digest"),
        ("{\"keys\": {\"a\": {\"digest\": 7}}}", "keys.a.digest"),
        ("{\"keys\": {\"a\": {\"secretFile\": \"/nowhere\"}}}", "keys.a.secretFile"),
        ("{\"keys\": {\"a\": {\"secretFile\": \"/dev/zero\"}}}", "keys.a.secretFile"),
        ("{\"keys\": {\"a\": {\"secretFile\": \"/proc/sys/net/core/somaxconn\"}}}", "keys.a.secretFile"),
        (
            "{\"gateway\": {\"http\": {\"certificateFile\": \"/nowhere\", \"privateKeyFile\": \"/etc/hostname\"}}}",
            "gateway.http.certificateFile"
        ),
        ("{\"keys\": {\"a\": {\"secret\": \"staple-staple-staple\", \"scopes\": [\"root\"]}}}", "keys.a.scopes"),
        (
            "{\"spool\": {\"segmentBytes\": \"1MiB\"}, \"gateway\": {\"intakeBodyBytes\": \"1MiB\"}}",
            "spool.segmentBytes"
        ),
    ])
    func mistakesAreNamed(_ text: String, _ key: String) {
        let error = #expect(throws: SettingsError.self) { try settings(text) }
        #expect(error?.problems.count == 1)
        #expect(error?.problems.first?.hasPrefix("\(key):") == true, "\(error?.description ?? "")")
    }

    @Test func everySettingIsDocumented() {
        var reader = SettingsReader.documenting
        _ = GatewaySettings(&reader)
        let names = reader.keys.map(\.name)
        for name in ["spool.folder", "spool.maxBytes", "gateway.http.address", "gateway.brokerLimit", "keys.*.scopes"] {
            #expect(names.contains(name))
        }
        check(reader.keys.allSatisfy { !$0.help.isEmpty })
    }
}
