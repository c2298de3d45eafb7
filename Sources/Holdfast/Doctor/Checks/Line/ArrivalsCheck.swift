import CacheTier
import Entitlements
import Redis
import Runtime
import Time

/// Whether Apple's notifications of one app come as they usually do.
struct ArrivalsCheck: Check {
    let app: AppSettings
    let patient: Patient

    var name: String { "arrivals, \(app.id)" }

    func examine() async -> Finding {
        await patient.withRedis { client throws(RedisError) in
            guard case .fine = try await StoreInspector(redis: client).layout() else {
                return .notChecked("nothing was ever stored here")
            }
            let now = patient.clock.now()
            var findings: [Finding] = []
            var sentences: [String] = []
            for environment in StoreEnvironment.allCases {
                do throws(StoreError) {
                    let hours = try await Arrivals(redis: client).hours(of: app.id, in: environment)
                    let silence = ArrivalSilence(hours, at: now)
                    sentences.append("\(environment.rawValue) \(Self.sentence(silence))")
                    if let finding = finding(silence, environment) { findings.append(finding) }
                } catch {
                    if case .redis(let cause) = error { throw cause }
                    return .notChecked("\(error)")
                }
            }
            return .of(findings, otherwise: sentences.joined(separator: "; "))
        }
    }

    private static func sentence(_ silence: ArrivalSilence) -> String {
        guard let last = silence.last else { return "none yet" }
        return "last at \(last.rfc3339.prefix(19))Z, as usual"
    }

    private func finding(_ silence: ArrivalSilence, _ environment: StoreEnvironment) -> Finding? {
        guard let last = silence.last else {
            // Production is silent until the app is released, and the rules of an outage see to it after that.
            guard environment == .sandbox else { return nil }
            return .warning(
                "no notification has ever come to the sandbox address",
                "App Store Connect: the app, App Information, App Store Server Notifications, version 2: "
                    + "https://YOUR-HOST/apple/\(app.id)/sandbox")
        }
        guard silence.isUnusual else { return nil }
        return .warning(
            "nothing has come to \(environment.rawValue) since \(last.rfc3339.prefix(19))Z, which is unusual for this "
                + "hour of the week",
            "The line on the test notification says whether Apple reaches us. Do notifications wait in RabbitMQ or a spool?",
            "What was missed: holdfast backfill --since 1d --app \(app.id) --check")
    }
}
