import TestSupport
import Testing

/// Command lines that cannot be meant.
@Suite struct UsageTests {
    @Test(
        arguments: [
            (["settings", "holdfast.json"], "holdfast.json is one word too many"),
            (["settings", "--markdown=yes"], "--markdown takes no value"),
            (["gateway", "holdfast.json"], "holdfast.json is one word too many"),
            (["gateway", "--setings", "x"], "did you mean --settings?"),
            (["simulator", "stray"], "stray is one word too many"),
            (["explain"], "explain takes either a customer or --transaction"),
            (["explain", "anna", "--transaction", "1"], "explain takes either a customer or --transaction"),
            (["explain", "anna", "--at", "now"], "--at takes a time such as"),
            (["explain", "anna", "--environment", "xcode"], "--environment takes production or sandbox"),
        ])
    func aWordThatMeansNothingIsNamed(_ arguments: [String], _ sentence: String) async throws {
        let result = try await Command.run(try ChildProcess.product("holdfast"), arguments)
        #expect(result.status == 2)
        #expect(result.output.contains(sentence))
    }

    @Test(
        arguments: [
            (
                #""keys":{"b":{"secret":"0123456789abcdef"},"c":{"secret":"0123456789abcdef"}}"#,
                "is the same key as keys.b"
            ),
            (#""keys":{"b":{"secret":"0123456789abcdef","apps":["demp"]}}"#, "keys.b.apps: there is no app demp"),
            (#""spool":{"maxBytes":"1MiB"}"#, "spool.maxBytes: must be at least spool.segmentBytes"),
            (#""spool":{"folder":""}"#, "spool.folder: must name a folder"),
        ])
    func settingsThatCannotBeMeantAreNamed(_ member: String, _ sentence: String) async throws {
        let folder = try TemporaryFolder("settings")
        let path = try folder.write(
            #"{"apps":{"demo":{"bundleId":"com.example.demo","appAppleId":1}},\#(member)}"#, to: "holdfast.json")
        let result = try await Command.run(try ChildProcess.product("holdfast"), ["gateway", "--settings", path])
        #expect(result.status == 2)
        #expect(result.output.contains(sentence))
    }
}
