import Broker
import JSON
import Runtime
import Testing

struct BrokerSettingsTests {
    private func read(_ environment: [String: String]) throws -> BrokerSettings {
        var reader = SettingsReader(file: .object(JSONObject()), environment: environment) { _ in "a file" }
        let settings = BrokerSettings(&reader)
        try reader.finish()
        return settings
    }

    @Test func withoutAnyTheDefaultsHold() throws {
        let (read, defaults) = (try read([:]), BrokerSettings())
        #expect(read.host == defaults.host && read.port == defaults.port)
        #expect(read.password == defaults.password)
        #expect(read.tls == nil)
        #expect(read.publishWindow == defaults.publishWindow)
        #expect(read.ledgerMaximumAge == defaults.ledgerMaximumAge)
    }

    @Test func whatIsSetIsTaken() throws {
        let settings = try read([
            "HOLDFAST_BROKER_PORT": "5671", "HOLDFAST_BROKER_PASSWORD": "p", "HOLDFAST_BROKER_PREFIX": "eu",
            "HOLDFAST_BROKER_TLS_CERTIFICATE_AUTHORITY_FILE": "/ca.pem", "HOLDFAST_BROKER_CONFIRM_TIMEOUT": "1500ms",
        ])
        #expect(settings.port == 5671)
        #expect(settings.password.value == "p")
        #expect(settings.names.intake == "eu.intake")
        #expect(settings.tls?.certificateAuthorityFile == "/ca.pem")
        #expect(settings.confirmTimeout == .milliseconds(1500))
    }

    @Test func aCertificateWithoutItsKeyIsAMistake() {
        #expect(throws: SettingsError.self) {
            try read([
                "HOLDFAST_BROKER_TLS_CERTIFICATE_AUTHORITY_FILE": "/ca.pem",
                "HOLDFAST_BROKER_TLS_CERTIFICATE_FILE": "/c.pem",
            ])
        }
        #expect(throws: SettingsError.self) {
            try read(["HOLDFAST_BROKER_TLS_CERTIFICATE_FILE": "/c.pem", "HOLDFAST_BROKER_TLS_KEY_FILE": "/k.pem"])
        }
    }
}
