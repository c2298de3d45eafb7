internal import Synchronization

/// What a process counts and measures, in Prometheus' terms. A series is made when first asked for; asking again for the
/// same name and labels gives the same series, so parts need not share handles.
///
/// Label values must come from a bounded set (app ids, reasons, states), never from a request.
package final class Metrics: Sendable {
    package typealias Labels = KeyValuePairs<String, String>

    private enum Series {
        case counter(Counter)
        case gauge(Gauge)
        case histogram(Histogram)
    }

    private struct Family {
        let help: String
        var series: [String: Series] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    package init() {}

    /// A number that only grows; `name` ends in `_total`.
    package func counter(_ name: String, _ help: String, labels: Labels = [:]) -> Counter {
        let series = find(name, help, labels) { .counter(Counter()) }
        if case .counter(let counter) = series { return counter }
        preconditionFailure("\(name) is used as two kinds of metric")
    }

    /// A number that goes up and down.
    package func gauge(_ name: String, _ help: String, labels: Labels = [:]) -> Gauge {
        let series = find(name, help, labels) { .gauge(Gauge()) }
        if case .gauge(let gauge) = series { return gauge }
        preconditionFailure("\(name) is used as two kinds of metric")
    }

    /// A distribution; `buckets` are upper bounds, growing.
    package func histogram(
        _ name: String, _ help: String, buckets: [Double] = Histogram.seconds, labels: Labels = [:]
    ) -> Histogram {
        let series = find(name, help, labels) { .histogram(Histogram(buckets: buckets)) }
        if case .histogram(let histogram) = series { return histogram }
        preconditionFailure("\(name) is used as two kinds of metric")
    }

    private func find(_ name: String, _ help: String, _ labels: Labels, _ make: () -> Series) -> Series {
        let text = labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
        return families.withLock { families in
            if let series = families[name]?.series[text] { return series }
            let series = make()
            families[name, default: Family(help: help)].series[text] = series
            return series
        }
    }

    /// All series in Prometheus' text exposition format, version 0.0.4.
    package func exposition() -> String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            guard let kind = family.series.values.first else { continue }
            text += "# HELP \(name) \(family.help)\n# TYPE \(name) \(Self.typeName(kind))\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                switch series {
                case .counter(let counter): text += "\(name)\(braced(labels)) \(counter.value)\n"
                case .gauge(let gauge): text += "\(name)\(braced(labels)) \(gauge.value)\n"
                case .histogram(let histogram): append(histogram, name, labels, to: &text)
                }
            }
        }
        return text
    }

    private func append(_ histogram: Histogram, _ name: String, _ labels: String, to text: inout String) {
        let (counts, sum) = histogram.snapshot()
        let prefix = labels.isEmpty ? "" : labels + ","
        var cumulative: UInt64 = 0
        for (bound, count) in zip(histogram.buckets.map { "\($0)" } + ["+Inf"], counts) {
            cumulative += count
            text += "\(name)_bucket{\(prefix)le=\"\(bound)\"} \(cumulative)\n"
        }
        text += "\(name)_sum\(braced(labels)) \(sum)\n\(name)_count\(braced(labels)) \(cumulative)\n"
    }

    private func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    private static func typeName(_ series: Series) -> String {
        switch series {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for character in value {
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.append(character)
            }
        }
        return text
    }
}

package final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)
    package func increment(by amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
    package var value: UInt64 { count.load(ordering: .relaxed) }
}

package final class Gauge: Sendable {
    private let current = Mutex<Double>(0)
    package func set(_ value: Double) { current.withLock { $0 = value } }
    package func add(_ amount: Double) { current.withLock { $0 += amount } }
    package var value: Double { current.withLock { $0 } }
}

package final class Histogram: Sendable {
    /// Bounds for durations between half a millisecond and half a minute.
    package static let seconds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]

    private struct State {
        /// One count a bucket, and one for what is beyond the last.
        var counts: [UInt64]
        var sum = 0.0
    }

    let buckets: [Double]
    private let state: Mutex<State>

    init(buckets: [Double]) {
        self.buckets = buckets
        state = Mutex(State(counts: Array(repeating: 0, count: buckets.count + 1)))
    }

    package func record(_ value: Double) {
        let bucket = buckets.firstIndex { value <= $0 } ?? buckets.count
        state.withLock { state in
            state.counts[bucket] &+= 1
            state.sum += value
        }
    }

    package func record(_ duration: Duration) { record(duration / .seconds(1)) }

    func snapshot() -> (counts: [UInt64], sum: Double) { state.withLock { ($0.counts, $0.sum) } }
}
