import Entitlements
import JSON
import Runtime
import TestSupport
import Testing

@testable import CacheTier

@Suite struct ProductMapDocumentTests {
    private func problems(_ text: String) -> [String] {
        do throws(SettingsError) {
            _ = try ProductMapDocument(parsing: Array(text.utf8))
            return []
        } catch { return error.problems }
    }

    @Test func itIsReadAsTheSettingsAre() throws {
        let document = try ProductMapDocument(
            parsing: Array(
                """
                {"products": { // all that was ever sold
                    "pro.yearly": {"entitlements": ["pro", "basic"], "group": "main", "level": 1},
                    "pass.90": {"entitlements": ["pro"], "duration": "90d"},
                    "sticker": {"entitlements": []}}}
                """.utf8))
        #expect(
            document.products == [
                "pro.yearly": .init(entitlements: ["pro", "basic"], group: "main", level: 1),
                "pass.90": .init(entitlements: ["pro"], duration: .seconds(90 * 86_400)), "sticker": .init(),
            ])
    }

    @Test func theCanonicalFormDependsOnTheProductsAlone() throws {
        let a = try ProductMapDocument(
            parsing: Array(#"{"products":{"b":{"entitlements":["y","x"]},"a":{"level":2,"group":"g"}}}"#.utf8))
        let b = try ProductMapDocument(
            parsing: Array(#"{ "products": {"a":{"group":"g","level":2},"b":{"entitlements":["x","y"]}} }"#.utf8))
        #expect(a.canonical == b.canonical)
        #expect(a.digest == b.digest)
        #expect(
            String(decoding: a.canonical, as: UTF8.self)
                == #"{"products":{"a":{"entitlements":[],"group":"g","level":2},"b":{"entitlements":["x","y"]}}}"#)
        #expect(try ProductMapDocument(parsing: a.canonical) == a)
    }

    @Test func allMistakesAreNamedWithWhatWasMeant() {
        let found = problems(
            #"{"products":{"a":{"entitlement":["x"]},"b":{"level":"high"},"c":{"duration":"soon"}},"version":3}"#)
        #expect(found.count == 4)
        check(found.contains { $0.contains("products.a.entitlement") && $0.contains("did you mean") }, "\(found)")
        check(found.contains { $0.contains("products.b.level") }, "\(found)")
        check(found.contains { $0.contains("products.c.duration") }, "\(found)")
        check(found.contains { $0.hasPrefix("version: there is no such setting") }, "\(found)")
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"product":{}}"#, #"{"products":[]}"#, #"{"products":{"":{}}}"#, "{\"products\":{",
    ])
    func whatIsNoMapIsRefused(_ text: String) { #expect(!problems(text).isEmpty) }

    @Test(arguments: [
        #"{"products":{"a":{"entitlements":["p\u202Ero"]}}}"#,
        #"{"products":{"a":{"entitlements":["p\nro"]}}}"#, #"{"products":{"a\u202Eb":{}}}"#,
        "{\"products\":{\"a\":{\"entitlements\":[\"\(String(repeating: "x", count: 129))\"]}}}",
    ])
    func idsThatNobodyCanReadAreRefusedInWordsThatAnybodyCan(_ text: String) {
        let found = problems(text)
        #expect(found.count == 1)
        check(
            found.allSatisfy { $0.contains("all printable") && $0.unicodeScalars.allSatisfy(\.isPrintable) }, "\(found)"
        )
    }
}
