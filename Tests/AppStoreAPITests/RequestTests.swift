import AppStore
import Entitlements
import TestSupport
import Testing
import Time

/// What may be sent, and how it is written.
@Suite struct RequestTests {
    private typealias Value = ServerAPIRequest.Value

    private func refused(_ endpoint: ServerAPIEndpoint, _ values: [(String, String)]) -> ServerAPIFailure? {
        do throws(ServerAPIFailure) {
            _ = try ServerAPIRequest(endpoint, values.map { Value($0.0, $0.1) })
            return nil
        } catch { return error }
    }

    private func body(_ endpoint: ServerAPIEndpoint, _ values: [(String, String)]) throws -> String {
        let request = try ServerAPIRequest(endpoint, values.map { Value($0.0, $0.1) })
        return String(decoding: try #require(request.body), as: UTF8.self)
    }

    @Test(arguments: ["", ".", "..", "a\nb", "a\u{0}b", String(repeating: "1", count: 65)])
    func anIdThatCannotStandInAPathIsNotSent(_ id: String) {
        #expect(refused(.transaction, [("transactionId", id)])?.kind == .invalidRequest)
    }

    @Test(arguments: [
        ("a/b", "a%2Fb"), ("../x", "..%2Fx"), ("a?b#c", "a%3Fb%23c"), ("a b", "a%20b"),
        ("é", "%C3%A9"), ("%2e", "%252e"),
        ("{transactionId}", "%7BtransactionId%7D"),
    ])
    func idsAreEscaped(_ id: String, _ escaped: String) throws {
        let request = try ServerAPIRequest(.finish, [Value("transactionId", id)])
        #expect(request.target == "/inApps/v1/transactions/\(escaped)/finish")
    }

    @Test func whatAppleWouldRefuseIsNotSentAndSaysWhy() {
        let extent = [("originalTransactionId", "1"), ("extendReasonCode", "1"), ("requestIdentifier", "r")]
        for days in ["0", "91", "-1", "1.5", "", "x"] {
            let failure = refused(.extend, extent + [("extendByDays", days)])
            check(failure?.message.contains("extendByDays must be a whole number from 1 to 90") == true, days)
        }
        #expect(refused(.extend, extent)?.message.contains("extendByDays is needed") == true)
        #expect(refused(.extend, extent + [("extendByDays", "1"), ("extendByDays", "2")]) != nil)
        #expect(refused(.statuses, [("transactionId", "1"), ("status", "6")]) != nil)
        #expect(refused(.setAccountToken, [("originalTransactionId", "1"), ("appAccountToken", "")]) != nil)
        #expect(refused(.setAccountToken, [("originalTransactionId", "1"), ("appAccountToken", "x")]) != nil)
        #expect(refused(.history, [("transactionId", "1"), ("sort", "UP")])?.message.contains("ASCENDING") == true)
        #expect(refused(.history, [("transactionId", "1"), ("nonsense", "1")]) != nil)
        #expect(refused(.history, [("transactionId", "1"), ("startDate", "2"), ("endDate", "1")]) != nil)
        let range = [("startDate", "1"), ("endDate", "2")]
        #expect(refused(.notifications, range) == nil)
        #expect(refused(.notifications, range + [("notificationSubtype", "UPGRADE")]) != nil)
        #expect(refused(.notifications, range + [("notificationType", "TEST"), ("transactionId", "1")]) != nil)
        #expect(refused(.groupMembers, [("groupId", "1"), ("limit", "101")]) != nil)
    }

    @Test("Pitfall 17: dates go out as whole milliseconds, in queries and in bodies")
    func datesAreWhole() throws {
        for date in ["1698148900123.5", "1.6981489e12", "1698148900,5", "now"] {
            #expect(refused(.history, [("transactionId", "1"), ("startDate", date)]) != nil)
        }
        let values = [("startDate", "2023-10-24T12:01:40.1239Z"), ("endDate", "1698148900123")]
        #expect(try body(.notifications, values) == #"{"startDate":1698148900123,"endDate":1698148900123}"#)
        let request = try ServerAPIRequest(
            .history, [Value("transactionId", "1"), Value("startDate", "2023-10-24T12:01:40.1239Z")])
        #expect(request.target.hasSuffix("?startDate=1698148900123"))
    }

    @Test("Pitfall 18: without an account token, consumption V1 says \"\", never null and never nothing")
    func noAccountTokenIsAnEmptyText() throws {
        for given in [[], [("appAccountToken", "")]] {
            let text = try body(.consumptionV1, [("transactionId", "1"), ("customerConsented", "true")] + given)
            #expect(text == #"{"customerConsented":true,"appAccountToken":""}"#)
        }
    }

    @Test("Pitfall 19: every field of both consumption requests is sent, alone and whatever its value")
    func everyFieldOfConsumptionIsSent() throws {
        for endpoint in [ServerAPIEndpoint.consumption, .consumptionV1] {
            let base =
                endpoint == .consumption
                ? [("customerConsented", "true"), ("sampleContentProvided", "true"), ("deliveryStatus", "DELIVERED")]
                : [("customerConsented", "true"), ("appAccountToken", "")]
            for field in endpoint.fields where field.place == .body {
                let samples: [String]
                switch field.kind {
                case .integer(let range): samples = [range.lowerBound, range.upperBound].map { String($0) }
                case .boolean: samples = ["true", "false"]
                case .choice(let words): samples = words
                case .uuidOrEmpty: samples = ["7389a31a-fb6d-4569-a2a6-db7d85d84813"]
                default: samples = []
                }
                #expect(!samples.isEmpty, "\(field.name)")
                for sample in samples {
                    let values = base.filter { $0.0 != field.name } + [("transactionId", "1"), (field.name, sample)]
                    let text = try body(endpoint, values)
                    let isText = if case .integer = field.kind { false } else { field.kind != .boolean }
                    #expect(text.contains(#""\#(field.name)":\#(isText ? "\"\(sample)\"" : sample)"#))
                }
            }
        }
    }

    @Test("Pitfall 19: the typed V1 request sends each of its fields")
    func theTypedConsumptionRequestSendsEachField() async throws {
        var request = ConsumptionRequestV1(
            customerConsented: false, appAccountToken: "7389A31A-FB6D-4569-A2A6-DB7D85D84813")
        request.sampleContentProvided = true
        request.accountTenure = .upTo30Days
        request.consumptionStatus = .not
        request.deliveryStatus = .delivered
        request.lifetimeDollarsPurchased = .over2000
        request.lifetimeDollarsRefunded = ConsumptionRequestV1.LifetimeDollars.none
        request.platform = .nonApple
        request.playTime = .upTo5Minutes
        request.refundPreference = .grant
        request.userStatus = .limited
        let sent = request
        try await Stage.with(answering: { _ in answer(202) }) { stage in
            try await stage.client.sendConsumptionV1(sent, of: "1", .support)
            #expect(
                stage.requests.first?.body
                    == #"{"customerConsented":false,"appAccountToken":"7389a31a-fb6d-4569-a2a6-db7d85d84813","#
                    + #""sampleContentProvided":true,"accountTenure":3,"consumptionStatus":1,"deliveryStatus":0,"#
                    + #""lifetimeDollarsPurchased":7,"lifetimeDollarsRefunded":1,"platform":2,"playTime":1,"#
                    + #""refundPreference":1,"userStatus":4}"#)
        }
    }

    @Test("Pitfall 27: calls go to the host names of May 2026 unless the settings say otherwise")
    func theHostsAreTheNewOnes() {
        let settings = ServerAPISettings()
        #expect(settings.url(of: .production) == "https://api.storekit.apple.com")
        #expect(settings.url(of: .sandbox) == "https://api.storekit-sandbox.apple.com")
    }

    @Test func everyEndpointHasItsMethodPathAndGroup() {
        for endpoint in ServerAPIEndpoint.allCases {
            let segments = endpoint.path.split(separator: "/")
            let marks = segments.filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() }
            let inPath = endpoint.fields.filter { $0.place == .path }.map { Substring($0.name) }
            #expect(marks == inPath, "\(endpoint)")
            let hasBody = !endpoint.fields.allSatisfy { $0.place != .body }
            #expect(!hasBody || endpoint.method == .post || endpoint.method == .put)
            #expect(endpoint.group.callsPerSecond(in: .sandbox) * 10 == endpoint.group.callsPerSecond(in: .production))
        }
        let rates = Dictionary(grouping: ServerAPIEndpoint.allCases, by: \.group).mapValues(\.count)
        #expect(rates[.moderate] == 2)
        #expect(ServerAPIEndpoint.order.group == .scarce)
        #expect(ServerAPIEndpoint.testNotification.group == .rare)
    }
}
