import AppStore
import CacheTier
import Consumer
import Redis
import Runtime

extension LineProcess {
    /// What looks at clocks and certificates, and in a consumer at how notifications come, and shows it as metrics.
    static func watching(
        _ roles: [Role], _ settings: HoldfastSettings, _ redis: any RedisLink, _ verifier: NotificationVerifier,
        _ metrics: Metrics, _ log: Log
    ) -> [any Service] {
        let clocks = ClockWatch(redis: redis, metrics: metrics, log: log)
        let arrivals =
            roles.contains(.consumer)
            ? ArrivalWatch(
                apps: settings.apps.map(\.id), arrivals: Arrivals(redis: redis), metrics: metrics, log: log) : nil
        let task = RecurringTask(name: "alarms", every: settings.alarms.lookEvery) {
            CertificateEnds(of: verifier.verifier).show(in: metrics)
            await clocks.look()
            if redis.isConnected { await arrivals?.look() }
        }
        return [redis, task]
    }
}
