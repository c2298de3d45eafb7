internal import CRabbitMQ

/// Memory for the arguments of one call of librabbitmq: strings and tables are copied here, and all is given back at once.
@safe
struct ScratchPool: ~Copyable {
    private let pool: UnsafeMutablePointer<amqp_pool_t>

    init() {
        unsafe pool = .allocate(capacity: 1)
        unsafe init_amqp_pool(pool, 4096)
    }

    deinit {
        unsafe empty_amqp_pool(pool)
        unsafe pool.deallocate()
    }

    /// Ends the life of everything made before.
    func recycle() { unsafe recycle_amqp_pool(pool) }

    func bytes(_ text: String) -> amqp_bytes_t {
        var text = text
        return text.withUTF8 { source in
            var copy = unsafe amqp_bytes_t()
            // Out of memory leaves an empty string, never a dangling one.
            unsafe amqp_pool_alloc_bytes(pool, source.count, &copy)
            guard let start = unsafe copy.bytes, source.count > 0 else { return unsafe amqp_empty_bytes }
            if let from = source.baseAddress { unsafe start.copyMemory(from: from, byteCount: source.count) }
            return unsafe copy
        }
    }

    func table(_ arguments: [(name: String, value: Topology.Argument)]) -> amqp_table_t {
        guard let entries = unsafe entries(arguments.count) else { return unsafe amqp_empty_table }
        for (index, argument) in arguments.enumerated() {
            unsafe entries[index].key = bytes(argument.name)
            switch argument.value {
            case .text(let text): unsafe set(&entries[index].value, to: text)
            case .number(let number):
                unsafe entries[index].value.kind = UInt8(AMQP_FIELD_KIND_I64.rawValue)
                unsafe entries[index].value.value.i64 = number
            case .timestamp(let seconds):
                unsafe entries[index].value.kind = UInt8(AMQP_FIELD_KIND_TIMESTAMP.rawValue)
                unsafe entries[index].value.value.u64 = UInt64(clamping: seconds)
            }
        }
        return unsafe amqp_table_t(num_entries: Int32(clamping: arguments.count), entries: entries)
    }

    func table(_ headers: [(name: String, value: String)]) -> amqp_table_t {
        guard let entries = unsafe entries(headers.count) else { return unsafe amqp_empty_table }
        for (index, header) in headers.enumerated() {
            unsafe entries[index].key = bytes(header.name)
            unsafe set(&entries[index].value, to: header.value)
        }
        return unsafe amqp_table_t(num_entries: Int32(clamping: headers.count), entries: entries)
    }

    private func set(_ value: inout amqp_field_value_t, to text: String) {
        unsafe value.kind = UInt8(AMQP_FIELD_KIND_UTF8.rawValue)
        unsafe value.value.bytes = bytes(text)
    }

    private func entries(_ count: Int) -> UnsafeMutablePointer<amqp_table_entry_t>? {
        guard count > 0 else { return nil }
        let size = unsafe count * MemoryLayout<amqp_table_entry_t>.stride
        guard let memory = unsafe amqp_pool_alloc(pool, size) else { return nil }
        return unsafe memory.bindMemory(to: amqp_table_entry_t.self, capacity: count)
    }
}
