import AppStore
import Entitlements
import Glibc
import Time

/// What `Benchmarks/appstore` runs.
///
///     AppStoreBenchmark speed COUNT FOLDER    the notifications go to FOLDER, for others to verify the same
///     AppStoreBenchmark memory COUNT
@main enum AppStoreBenchmark {
    private struct Failure: Error, CustomStringConvertible { let description: String }

    static func main() throws {
        let arguments = CommandLine.arguments
        let count = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0
        switch (arguments.dropFirst().first, arguments.count) {
        case ("speed", 4) where count > 0: try measureSpeed(count, folder: arguments[3])
        case ("memory", 3) where count >= 10: try measureMemory(count)
        default: throw Failure(description: "speed COUNT FOLDER, or memory COUNT")
        }
    }

    /// Rounds alternate between ours and the limit, so that a busy machine bends both alike; medians count.
    private static func measureSpeed(_ count: Int, folder: String) throws {
        let notifications = try Notifications(now: now)
        let signed = try (0..<count).map { try notifications.signedPayload($0) }
        try write(Array(signed.joined(separator: "\n").utf8), to: "\(folder)/notifications")
        try write(notifications.authority.rootDER, to: "\(folder)/root.der")
        let bodies = signed.map { SignedBody.body(signedPayload: $0) }
        let verifier = NotificationVerifier(JWSVerifier(roots: try notifications.roots()))
        guard let limit = RawLimit() else { throw Failure(description: "OpenSSL cannot verify") }
        func whole(_ verifier: NotificationVerifier, _ body: [UInt8]) throws {
            let verified = try verifier.verify(body, for: Notifications.identity, now: now)
            guard verified.observation(app: AppID("a"))?.renewal != nil else { throw Failure(description: "no facts") }
        }

        var (raw, warm, door, cold) = ([Cost](), [Cost](), [Cost](), [Cost]())
        for _ in 0..<15 {
            raw.append(
                try Cost.each(of: 1000) {
                    for _ in 0..<1000 { guard limit.verify() else { throw Failure(description: "raw") } }
                })
            warm.append(try Cost.each(of: count) { for body in bodies { try whole(verifier, body) } })
            door.append(try Cost.each(of: count) { for body in bodies { _ = try verifier.intake(body, now: now) } })
            let few = bodies.prefix(20)
            cold.append(
                try Cost.each(of: few.count) {
                    for body in few {
                        try whole(NotificationVerifier(JWSVerifier(roots: notifications.roots())), body)
                    }
                })
        }
        let one = Cost.median(raw)
        print("size", bodies[0].count, separator: "\t")
        print("openssl", RawLimit.version, separator: "\t")
        show("limit", Cost(cpu: one.cpu * 3, wall: one.wall * 3))
        show("warm", Cost.median(warm))
        show("door", Cost.median(door))
        show("cold", Cost.median(cold))
    }

    /// Signs and verifies one after another and keeps none; what remains in memory must not depend on how many.
    private static func measureMemory(_ count: Int) throws {
        let notifications = try Notifications(now: now)
        let verifier = NotificationVerifier(JWSVerifier(roots: try notifications.roots()))
        for number in 1...count {
            let body = SignedBody.body(signedPayload: try notifications.signedPayload(number))
            let verified = try verifier.verify(body, for: Notifications.identity, now: now)
            guard verified.observation(app: AppID("a")) != nil else { throw Failure(description: "no facts") }
            if number == count / 10 || number == count {
                print("resident", number, status("VmRSS"), status("VmHWM"), separator: "\t")
            }
        }
    }

    private static let now = Timestamp(milliseconds: Int64(time(nil)) * 1000)

    private static func show(_ name: String, _ cost: Cost) { print(name, cost.cpu, cost.wall, separator: "\t") }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "w") else { throw Failure(description: "cannot write \(path)") }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
            throw Failure(description: "cannot write \(path)")
        }
    }

    /// A figure in kB that Linux keeps of this process.
    private static func status(_ name: String) -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("\(name):") { return Int(text.filter(\.isNumber)) ?? 0 }
        }
        return 0
    }
}
