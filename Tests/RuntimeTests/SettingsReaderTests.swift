import JSON
import Runtime
import TestSupport
import Testing

@Suite struct SettingsReaderTests {
    private func reader(_ text: String = "{}", _ environment: [String: String] = [:]) throws -> SettingsReader {
        SettingsReader(
            file: try JSONValue.parse(Array(text.utf8), allowingComments: true), environment: environment,
            readFile: { path in path == "/secret" ? "from file\n" : try File.text(at: path) })
    }

    private func problems(_ text: String, _ environment: [String: String] = [:]) throws -> [String] {
        var settings = try reader(text, environment)
        _ = settings.string("broker.host", default: "127.0.0.1", "Where.")
        _ = settings.integer("broker.prefetch", default: 64, in: 1...1024, "How many.")
        _ = settings.duration("broker.connectTimeout", default: .seconds(5), in: .zero ... .seconds(60), "How long.")
        _ = settings.secret("broker.password", "The password.")
        for name in settings.names(in: "apps") {
            settings.within("apps", name) { _ = $0.requiredString("bundleId", "Apple's bundle id.") }
        }
        do { try settings.finish() } catch { return error.problems }
        return []
    }

    @Test func theFileIsReadAndTheEnvironmentWins() throws {
        var settings = try reader(
            """
            { // how to reach RabbitMQ
              "broker": { "host": "a.example", "prefetch": 8, "connectTimeout": "250ms", "tls": true },
              "sizes": { "body": "256KiB", "plain": 10 }, "list": ["x", "y"]
            }
            """, ["HOLDFAST_BROKER_PREFETCH": "16", "PATH": "/bin"])
        let host = settings.string("broker.host", default: "", "")
        let prefetch = settings.integer("broker.prefetch", default: 1, in: 1...100, "")
        let timeout = settings.duration("broker.connectTimeout", default: .zero, in: .zero ... .seconds(1), "")
        let tls = settings.boolean("broker.tls", default: false, "")
        let sizes = ["sizes.body", "sizes.plain"].map { settings.byteCount($0, default: 0, in: 0...1_000_000, "") }
        let list = settings.strings("list", "")
        let absent = settings.string("absent", default: "default", "")
        #expect((host, prefetch, timeout, tls) == ("a.example", 16, .milliseconds(250), true))
        #expect((sizes, list, absent) == ([262_144, 10], ["x", "y"], "default"))
        try settings.finish()
    }

    @Test func everyMistakeIsNamedAtOnceWithKeyAndRemedy() throws {
        let found = try problems(
            #"{"broker":{"hots":"x","prefetch":0,"connectTimeout":"soon"},"apps":{"demo":{"bundleID":"a.b"}}}"#,
            ["HOLDFAST_BROKER_HOSTS": "x"])
        #expect(
            found == [
                #"broker.prefetch: must be from 1 to 1024, not "0""#,
                #"broker.connectTimeout: must be a time such as 250ms, 5s, 10m, 24h or 7d, not "soon""#,
                "apps.demo.bundleId: is needed. Apple's bundle id.",
                "broker.hots: there is no such setting; did you mean broker.host?",
                "apps.demo.bundleID: there is no such setting; did you mean apps.demo.bundleId?",
                "HOLDFAST_BROKER_HOSTS: there is no such setting; did you mean HOLDFAST_BROKER_HOST?",
            ])
    }

    @Test func aWrongTypeIsAMistake() throws {
        #expect(try problems(#"{"broker":{"host":1}}"#) == ["broker.host: must be a string"])
        #expect(try problems(#"{"broker":{"prefetch":true}}"#) == ["broker.prefetch: must be an integer"])
        #expect(try problems(#"{"broker":[]}"#) == ["broker: must be an object"])
        #expect(try problems(#"{"apps":[]}"#) == ["apps: must be an object"])
        #expect(try problems(#"{"apps":{}}"#) == [])
        #expect(try problems(#"{"brokr":{}}"#) == ["brokr: there is no such setting; did you mean broker?"])
    }

    @Test func secretsComeFromFilesToo() throws {
        var settings = try reader(#"{"a":{"passwordFile":"/secret"},"b":{"password":"direct"}}"#)
        let secrets = ["a", "b", "c"].map { settings.secret("\($0).password", "")?.value }
        #expect(secrets == ["from file", "direct", nil])
        try settings.finish()
    }

    @Test func secretsNeverShowThemselves() throws {
        let secret = Secret("hunter2")
        #expect(
            !"\(secret) \(String(reflecting: secret)) \([secret]) \(Mirror(reflecting: secret).children)".contains(
                "hunter2"))
        var settings = try reader(#"{"broker":{"password":"hunter2"}}"#)
        _ = settings.secret("broker.password", "")
        check(!settings.keys.contains { "\($0)".contains("hunter2") })
    }

    @Test func theDocumentationListsWhatOperatorsNameAsAStar() {
        var settings = SettingsReader.documenting
        for name in settings.names(in: "apps") {
            settings.within("apps", name) { _ = $0.requiredString("bundleId", "Apple's bundle id.") }
        }
        #expect(settings.keys.map(\.name) == ["apps.*.bundleId"])
        #expect(throws: Never.self) { try settings.finish() }
    }

    @Test(arguments: [("250ms", 250), ("5s", 5000), ("2m", 120_000), ("24h", 86_400_000), ("7d", 604_800_000)])
    func timesAreReadAndShownInTheLargestWholeUnit(_ text: String, _ milliseconds: Int) {
        #expect(Duration(settingText: text) == .milliseconds(milliseconds))
        #expect(Duration(settingText: Duration.milliseconds(milliseconds).settingText) == .milliseconds(milliseconds))
        #expect(Duration(settingText: "9999999999999999999d") == nil)
    }
}
