import JSON
import Testing

@testable import Holdfast

/// What `holdfast demo` says of a read.
@Suite struct DemoReaderTests {
    private func sentence(_ active: Bool, _ validUntil: String, _ state: String, _ expiresAt: String) throws -> String {
        let answer = """
            {"service":{"level":"S"},
             "entitlements":[{"id":"pro","active":\(active),"validUntil":"\(validUntil)"}],
             "subscriptions":[{"state":"\(state)","expiresAt":"\(expiresAt)","willRenew":false}]}
            """
        return DemoReader.Reading(try JSONValue.parse(Array(answer.utf8))).sentence
    }

    @Test func whatIsOverIsOverSinceItEndedAndNotUntil() throws {
        let (paid, taken) = ("2026-11-30T11:22:33.444Z", "2026-11-30T10:00:00.000Z")
        #expect(try sentence(true, paid, "canceled", paid) == "active: pro (canceled until 11:22:33.444)")
        #expect(try sentence(false, paid, "expired", paid) == "not active (expired since 11:22:33.444)")
        // A refund ends the access before what was paid for does.
        #expect(try sentence(false, taken, "revoked", paid) == "not active (revoked since 10:00:00.000)")
        #expect(DemoReader.Reading().sentence == "nothing bought yet")
    }
}
