import EmbeddedStore
import Gateway
import HTTP

/// All checks for a system, in the order in which they are read: what others depend on comes first.
enum Checklist {
    /// `timeout` is what a check is given; `sendsTest` whether Apple is asked for test notifications.
    static func checks(for patient: Patient, timeout: Duration, sendsTest: Bool) -> [any Check] {
        settings(patient) + broker(patient) + redis(patient) + line(patient) + apple(patient)
            + (sendsTest ? tests(patient, timeout) : [])
    }

    private static func settings(_ patient: Patient) -> [any Check] {
        let settings = patient.settings
        var checks: [any Check] = [
            SettingsCheck(patient: patient), FilesCheck(patient: patient), SecretsCheck(patient: patient),
            RootsCheck(patient: patient), SpoolCheck(settings: settings.gateway.spool),
            SnapshotCheck(settings: settings.snapshot, clock: patient.clock),
            MachineCheck(settings: settings),
        ]
        for (listener, isPublic) in [
            (settings.gateway.http, true), (settings.gateway.operations, false), (settings.consumerOperations, false),
        ] {
            guard let certificate = listener.certificate else { continue }
            checks.append(
                CertificateCheck(
                    name: "certificate, \(listener.name)", certificate: certificate, patient: patient,
                    isPublic: isPublic))
        }
        return checks
    }

    private static func broker(_ patient: Patient) -> [any Check] {
        if patient.settings.embedded.queue == .embedded { return [EmbeddedQueueCheck(patient: patient)] }
        return [
            BrokerLoginCheck(patient: patient), TopologyCheck(patient: patient),
            BrokerPermissionsCheck(patient: patient),
            BrokerAlarmCheck(patient: patient), QueuesCheck(patient: patient), ConsumersCheck(patient: patient),
            LedgerCheck(patient: patient), MessageSizeCheck(patient: patient),
        ]
    }

    private static func redis(_ patient: Patient) -> [any Check] {
        if patient.settings.embedded.store == .embedded {
            return [EmbeddedStoreCheck(patient: patient)]
                + patient.apps.map { ProductMapCheck(app: $0, patient: patient) }
        }
        return [
            RedisLoginCheck(patient: patient), RedisLatencyCheck(patient: patient), RedisRoleCheck(patient: patient),
            RedisPersistenceCheck(patient: patient), RedisMemoryCheck(patient: patient),
            RedisPermissionsCheck(patient: patient), RedisLayoutCheck(patient: patient),
            RedisClockCheck(patient: patient),
        ] + patient.apps.map { ProductMapCheck(app: $0, patient: patient) }
    }

    private static func line(_ patient: Patient) -> [any Check] {
        [
            ListenerCheck(role: .gateway, address: patient.settings.gateway.operations.address, patient: patient),
            ListenerCheck(role: .consumer, address: patient.settings.consumerOperations.address, patient: patient),
            CertificatesInUseCheck(patient: patient),
        ] + patient.apps.map { ArrivalsCheck(app: $0, patient: patient) }
    }

    private static func apple(_ patient: Patient) -> [any Check] {
        let keys: [any Check] = patient.apps.map { ServerKeyCheck(app: $0, patient: patient) }
        let calls: [any Check] = patient.apple.map { access in
            AppleKeyCheck(
                access: access,
                other: patient.apple.first { $0.app.id == access.app.id && $0.environment != access.environment })
        }
        let settings = patient.settings
        let seen: [any Check] = [
            AppleHealthCheck(role: .gateway, address: settings.gateway.operations.address, patient: patient),
            AppleHealthCheck(role: .consumer, address: settings.consumerOperations.address, patient: patient),
        ]
        let history: [any Check] = patient.apps.map { HistoryCheck(app: $0, patient: patient) }
        return keys + [AppleClockCheck(accesses: patient.apple)] + calls + seen + history
    }

    private static func tests(_ patient: Patient, _ timeout: Duration) -> [any Check] {
        patient.apple.map { TestNotificationCheck(access: $0, patient: patient, limit: timeout * 5) }
    }
}
