import AppStore
import JSON
import Testing
import Time

@Suite struct PayloadTests {
    func transaction(_ json: String) throws -> TransactionPayload { try TransactionPayload(json: Array(json.utf8)) }

    @Test(
        arguments: [
            (#""""#, nil, 0), (#""00000000-0000-0000-0000-000000000000""#, nil, 0), ("null", nil, 0),
            (#""7E3FB20B-4CDB-47CC-936D-99D65F608138""#, "7e3fb20b-4cdb-47cc-936d-99d65f608138", 0),
            (#""7e3fb20b4cdb47cc936d99d65f608138""#, nil, 1), (#""7e3fb20b-4cdb-47cc-936d-99d65f60813g""#, nil, 1),
            ("12", nil, 1), (#""ｅ3fb20b-4cdb-47cc-936d-99d65f608138""#, nil, 1),
        ] as [(String, String?, Int)])
    func anAccountTokenIsALowerCaseUUIDOrAbsent(text: String, expected: String?, warnings: Int) throws {
        let payload = try transaction("{\"appAccountToken\":\(text)}")
        #expect(payload.appAccountToken == expected)
        #expect(payload.warnings.count == warnings)
    }

    @Test(
        arguments: [
            ("1698148900000", 1_698_148_900_000, 0), ("1698148900000.75", 1_698_148_900_000, 0),
            ("1.6981489e12", 1_698_148_900_000, 0), ("-62135769600000", -62_135_769_600_000, 0),
            ("-0.5", -1, 0), ("0", 0, 0), ("1e400", nil, 1), ("9223372036854775807", nil, 1), ("1e17", nil, 1),
            (#""1698148900000""#, nil, 1), ("true", nil, 1), ("[]", nil, 1), ("null", nil, 0),
        ] as [(String, Int64?, Int)])
    func aDateIsMillisecondsWithinTheYearsThatExist(text: String, expected: Int64?, warnings: Int) throws {
        let payload = try transaction("{\"purchaseDate\":\(text)}")
        #expect(payload.purchaseDate?.milliseconds == expected)
        #expect(payload.warnings.count == warnings)
    }

    @Test(
        arguments: [
            ("9223372036854775807", Int64.max, 0), ("2147483648", 2_147_483_648, 0), ("9223372036854775808", nil, 1),
            ("1.5", nil, 1), ("3.0", 3, 0), (#""9""#, nil, 1), ("null", nil, 0),
        ] as [(String, Int64?, Int)])
    func aPriceHasSixtyFourBits(text: String, expected: Int64?, warnings: Int) throws {
        let payload = try transaction("{\"price\":\(text)}")
        #expect(payload.price == expected)
        #expect(payload.warnings.count == warnings)
    }

    @Test("Invariant 2: unknown values and members survive or are passed over") func unknownValuesStayRaw() throws {
        let payload = try transaction(
            #"{"inAppOwnershipType":"ASSIGNED","revocationType":"X","offerType":99,"new":{"a":[1,{"b":null}]},"transactionId":"1"}"#
        )
        #expect(payload.inAppOwnershipType == "ASSIGNED")
        #expect(payload.revocationType == "X")
        #expect(payload.offerType == 99)
        #expect(payload.isOfItsKind)
        #expect(payload.warnings.isEmpty)
    }

    @Test func refundedSeatsAreFoundInBothPlaces() throws {
        #expect(try transaction(#"{"revokedSeatQuantity":2}"#).revokedSeatQuantity == 2)
        #expect(
            try transaction(#"{"multiSeatInfo":{"revokedSeatQuantity":2,"priceTiers":[]}}"#).revokedSeatQuantity == 2)
    }

    @Test func aWrongTypeIsWarnedOfByItsPath() throws {
        let payload = try NotificationPayload(
            json: Array(#"{"notificationType":7,"data":{"status":"1","bundleId":"b"},"summary":[]}"#.utf8))
        #expect(payload.warnings.map(\.field).sorted() == ["data.status", "notificationType", "summary"])
        #expect(payload.origin.bundleID == "b")
    }

    @Test(arguments: [
        "", "[]", "1", #"{"a":1,"a":2}"#, #"{"a":1}x"#, #"{"a":"\u0000"#, "{\"a\":\"\u{1}\"}", #"{"a":01}"#,
        #"{"a":NaN}"#,
    ])
    func whatIsNoJSONObjectIsNoPayload(text: String) {
        #expect(throws: PayloadError.self) { try TransactionPayload(json: Array(text.utf8)) }
        #expect(throws: PayloadError.self) { try NotificationPayload(json: Array(text.utf8)) }
    }

    @Test func invalidUTF8IsNoPayload() {
        #expect(throws: PayloadError.self) {
            try TransactionPayload(json: Array(#"{"productId":""#.utf8) + [0xFF] + Array(#""}"#.utf8))
        }
    }
}
