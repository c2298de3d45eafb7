import Glibc
import JSON
import TestSupport
import Testing

/// Whole drills against a stack of processes. None asserts a speed; the bounds are those of a very slow machine.
@Suite("A drill against a real stack", .serialized)
struct StackTests {
    @Test("Invariants 5 and 8: while everything fails, no read fails, no payer lacks access, and levels are true")
    func everythingFailsAndNobodyIsHurt() async throws {
        let drill = try await Drill("everything", "--seconds", "4", "--propagation", "30", "--recovery", "180")
        let report = try drill.report
        #expect(drill.status == 0, "\(drill.complaints)")
        #expect(report["fine"]?.bool == true)
        // It would prove nothing if nothing had happened.
        let during = report["stages"]?["during"]
        #expect((during?["classes"]?["stale"]?.int64 ?? 0) + (during?["classes"]?["held"]?.int64 ?? 0) > 0)
        #expect((during?["levels"]?["B"]?.int64 ?? 0) > 0)
        #expect((report["changes"]?.int64 ?? 0) > 100)
        let parts = Set((report["outages"]?.array ?? []).compactMap { $0["part"]?.string })
        #expect(parts == ["redis", "rabbitmq", "apple", "gateway-1"])
    }

    @Test("Invariants 2 and 5: news lost, late and doubled, Apple dark, consumers killed: all ends as the store says")
    func whatIsLostIsFoundAndNobodyLosesWhatIsPaid() async throws {
        let drill = try await Drill(
            // What a killed consumer had in hand may wait for a retry level, on a machine that other tests keep busy.
            "losses", "--seconds", "12", "--accounts", "40", "--propagation", "60", "--told", "120", "--found", "120",
            "--recovery", "180")
        let report = try drill.report
        #expect(drill.status == 0, "\(drill.complaints)")
        let losses = report["losses"]
        #expect((losses?["lineages"]?.int64 ?? 0) > 20)
        #expect(losses?["differences"]?.array?.isEmpty == true)
        // It would prove nothing if nothing had been lost.
        let fates = losses?["fates"]
        let missed = ["late", "lateUnlisted", "lost", "lostUnlisted"].compactMap { fates?[$0]?.int64 }
        #expect(missed.reduce(0, +) > 0)
        check((losses?["calls"]?.array ?? []).contains { $0["endpoint"]?.string == "statuses" })
        let parts = Set((report["outages"]?.array ?? []).compactMap { $0["part"]?.string })
        #expect(parts == ["news", "apple", "consumer-1", "consumer-2"])
    }

    @Test("A payer's record that vanishes from Redis is reported")
    func aPlantedFaultIsReported() async throws {
        let folder = try TemporaryFolder("drill-fault")
        // The stack's own control program, which also takes what everybody bought out of Redis, as if it had been refunded
        // by mistake, once Redis is back.
        let fault = """
            #!/usr/bin/env bash
            set -euo pipefail
            "\(Command.packageFolder)/ops/stack" "\(folder.path)/drill" "$@"
            [ "$*" = "start redis" ] || exit 0
            port=$(cat "\(folder.path)/drill/redis/port")
            redis-cli -p "$port" --scan --pattern 'hf:{p??}:demo:p:holder:*' | while read -r key; do
                redis-cli -p "$port" EVAL '
                    for _, field in ipairs(redis.call("HKEYS", KEYS[1])) do
                        if field:sub(1, 2) == "l:" then redis.call("HDEL", KEYS[1], field) end
                    end
                    redis.call("XADD", KEYS[2], "*", "k", ARGV[1], "r", redis.call("HINCRBY", KEYS[1], "rev", 1))' \\
                    2 "$key" "${key%%\\}*}}:changes" "${key#*\\}:}"
            done >/dev/null

            """
        let control = try folder.write(fault, to: "control")
        chmod(control, 0o700)
        let drill = try await Drill(
            "redis-outage", "--seconds", "3", "--propagation", "5", "--recovery", "5", "--control", control,
            folder: folder)
        let report = try drill.report
        #expect(drill.status == 1, "\(drill.complaints)")
        #expect(report["fine"]?.bool == false)
        let stages = ["recovering", "after"].compactMap {
            report["stages"]?[$0]?["classes"]?["payerWithoutAccess"]?.int64
        }
        #expect(stages.reduce(0, +) > 0)
        #expect(report["unfinished"]?.array?.isEmpty == false)
        let broken = (report["claims"]?.array ?? []).filter { $0["holds"]?.bool == false }.compactMap {
            $0["claim"]?.string
        }
        #expect(broken.contains("no payer without access"))
        #expect(broken.contains("recovered fully"))
    }

    @Test func aDrillThatDoesNotExistIsAMistakeOfTheCommandLine() async throws {
        let drill = try await Drill.run(["drill", "earthquake", "--settings", "/dev/null"])
        #expect(drill.status == 2)
    }
}

/// One run of `ops/drill`.
struct Drill {
    let status: Int32
    private let output: String

    /// A month lasts long enough that what was taken away stays away for a while.
    init(_ arguments: String..., folder: TemporaryFolder? = nil) async throws {
        let folder = try folder ?? TemporaryFolder("drill")
        let result = try await Command.run(
            "/usr/bin/env",
            [
                "HOLDFAST=\(try ChildProcess.product("holdfast"))", "DRILL_FOLDER=\(folder.path)", "MONTH_SECONDS=24",
                // On a busy machine the simulator may take its time, which is no outage.
                "HOLDFAST_APP_STORE_HEALTH_SLOW_AFTER=20s", "HOLDFAST_APP_STORE_API_TIMEOUT=30s",
                "\(Command.packageFolder)/ops/drill",
            ] + ["--rate", "60", "--accounts", "80", "--slack", "5", "--json"] + arguments)
        status = result.status
        output = result.output
    }

    static func run(_ arguments: [String]) async throws -> Command.Result {
        try await Command.run(try ChildProcess.product("holdfast"), arguments)
    }

    /// What it printed for scripts, between what it says to people.
    var report: JSONValue {
        get throws {
            guard let line = output.split(separator: "\n").last(where: { $0.hasPrefix("{") }) else {
                throw CommandError("the drill ended with \(status) and without a report: \(output)")
            }
            return try JSONValue.parse(Array(line.utf8))
        }
    }

    /// What was wrong, for whoever reads the test's failure.
    var complaints: String {
        guard let report = try? report else { return output }
        let claims = (report["claims"]?.array ?? []).filter { $0["holds"]?.bool == false }
            .map { "\($0["claim"]?.string ?? ""): \($0["figure"]?.string ?? "")" }
        let examples = (report["examples"]?.array ?? []).prefix(20).map {
            "\($0["at"]?.double ?? 0) s, gateway-\($0["gateway"]?.int64 ?? 0): \($0["what"]?.string ?? "")"
        }
        let unfinished = (report["unfinished"]?.array ?? []).prefix(10).compactMap(\.string)
        return (claims + examples + unfinished).joined(separator: "\n")
    }
}
