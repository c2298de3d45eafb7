// Lua 5.1, the Lua that Redis has: runs the store's scripts for the embedded store.
//
// An error in Lua is a longjmp, which must not cross a Swift frame. So everything that can raise one runs in C functions
// below `lua_cpcall`, and what Swift is called for has returned before anything is raised.
#pragma once
#include <lua5.1/lua.h>
#include <lua5.1/lauxlib.h>
#include <lua5.1/lualib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Values between Swift and Lua, one after the other: a tag, then for `b`ulk, `s`tatus and `e`rror a length (8 bytes) and
// the bytes, for `i`nteger 8 bytes, for `a`rray the number of elements (8 bytes) and these; `n` is nil.
typedef struct holdfast_lua {
    lua_State *state;
    size_t used, limit;      // memory of Lua, in bytes
    long ticks;              // thousands of instructions left to the script
    unsigned char *bytes;    // the values on their way
    size_t length, capacity;
    int failed;              // no memory for `bytes`
    void *context;
    // Carries out a command and puts its reply (`holdfast_lua_put`).
    void (*call)(void *context, int count, const char *const *arguments, const size_t *lengths);
} holdfast_lua;

static inline void holdfast_lua_put(holdfast_lua *lua, const void *bytes, size_t count) {
    if (lua->failed || count == 0) return;
    if (count > lua->capacity - lua->length) {
        size_t wanted = lua->capacity ? lua->capacity : 1024;
        while (wanted - lua->length < count && wanted < ((size_t)1 << 40)) wanted *= 2;
        unsigned char *grown = wanted - lua->length < count ? NULL : (unsigned char *)realloc(lua->bytes, wanted);
        if (!grown) {
            lua->failed = 1;
            return;
        }
        lua->bytes = grown;
        lua->capacity = wanted;
    }
    memcpy(lua->bytes + lua->length, bytes, count);
    lua->length += count;
}

static inline void holdfast_lua_put_number(holdfast_lua *lua, char tag, int64_t number) {
    holdfast_lua_put(lua, &tag, 1);
    holdfast_lua_put(lua, &number, 8);
}

static inline void holdfast_lua_put_text(holdfast_lua *lua, char tag, const char *text, size_t count) {
    holdfast_lua_put_number(lua, tag, (int64_t)count);
    holdfast_lua_put(lua, text, count);
}

static inline holdfast_lua *holdfast_lua_of(lua_State *L) {
    void *lua;
    (void)lua_getallocf(L, &lua);
    return (holdfast_lua *)lua;
}

static inline void *holdfast_lua_allocate(void *context, void *old, size_t old_size, size_t new_size) {
    holdfast_lua *lua = (holdfast_lua *)context;
    if (!old) old_size = 0;
    if (new_size == 0) {
        free(old);
        lua->used -= old_size;
        return NULL;
    }
    if (new_size > old_size && lua->used - old_size + new_size > lua->limit) return NULL;
    void *grown = realloc(old, new_size);
    if (grown) lua->used = lua->used - old_size + new_size;
    return grown;
}

static inline void holdfast_lua_tick(lua_State *L, lua_Debug *activation) {
    (void)activation;
    holdfast_lua *lua = holdfast_lua_of(L);
    if (--lua->ticks >= 0) return;
    // From here on at each instruction: whatever a pcall catches is raised again behind it.
    lua_sethook(L, holdfast_lua_tick, LUA_MASKCOUNT, 1);
    luaL_error(L, "the script takes too long");
}

// MARK: What scripts are given

// Pushes the value at `place` and returns where the next one begins. Swift wrote it, so it is whole.
static inline size_t holdfast_lua_push(lua_State *L, holdfast_lua *lua, size_t place) {
    luaL_checkstack(L, 4, "a reply is nested too deeply");
    char tag = (char)lua->bytes[place];
    int64_t number = 0;
    if (tag == 'n') {
        lua_pushboolean(L, 0);
        return place + 1;
    }
    memcpy(&number, lua->bytes + place + 1, 8);
    place += 9;
    switch (tag) {
    case 'i': lua_pushnumber(L, (lua_Number)number); return place;
    case 'b': lua_pushlstring(L, (const char *)lua->bytes + place, (size_t)number); return place + (size_t)number;
    case 's':
    case 'e':
        lua_createtable(L, 0, 1);
        lua_pushlstring(L, (const char *)lua->bytes + place, (size_t)number);
        lua_setfield(L, -2, tag == 's' ? "ok" : "err");
        return place + (size_t)number;
    default:
        lua_createtable(L, number > 1 << 20 ? 1 << 20 : (int)number, 0);
        for (int64_t index = 1; index <= number; index++) {
            place = holdfast_lua_push(L, lua, place);
            lua_rawseti(L, -2, (int)index);
        }
        return place;
    }
}

static inline int holdfast_lua_raise(lua_State *L, const char *text) {
    lua_createtable(L, 0, 1);
    lua_pushstring(L, text);
    lua_setfield(L, -2, "err");
    return lua_error(L);
}

static inline int holdfast_lua_command(lua_State *L, int raises) {
    holdfast_lua *lua = holdfast_lua_of(L);
    int count = lua_gettop(L);
    if (count == 0) return holdfast_lua_raise(L, "ERR Please specify at least one argument for this redis.call() call");
    luaL_checkstack(L, 8, "too many arguments");
    // Lua's memory, so that it is let go of whatever is raised.
    const char **arguments = (const char **)lua_newuserdata(L, (size_t)count * sizeof(char *));
    size_t *lengths = (size_t *)lua_newuserdata(L, (size_t)count * sizeof(size_t));
    for (int index = 1; index <= count; index++) {
        if (lua_type(L, index) == LUA_TNUMBER) {
            char digits[64];
            int length = snprintf(digits, sizeof digits, "%.17g", (double)lua_tonumber(L, index));
            lua_pushlstring(L, digits, length > 0 ? (size_t)length : 0);
            lua_replace(L, index);
        } else if (lua_type(L, index) != LUA_TSTRING) {
            return holdfast_lua_raise(L, "ERR Lua redis lib command arguments must be strings or integers");
        }
        arguments[index - 1] = lua_tolstring(L, index, &lengths[index - 1]);
    }
    lua->length = 0;
    lua->call(lua->context, count, (const char *const *)arguments, lengths);
    if (lua->failed || lua->length == 0) return holdfast_lua_raise(L, "OOM no memory for the reply");
    int is_error = lua->bytes[0] == 'e';
    holdfast_lua_push(L, lua, 0);
    return is_error && raises ? lua_error(L) : 1;
}

static inline int holdfast_lua_call(lua_State *L) { return holdfast_lua_command(L, 1); }
static inline int holdfast_lua_pcall(lua_State *L) { return holdfast_lua_command(L, 0); }

static inline int holdfast_lua_reply(lua_State *L, const char *field) {
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TSTRING)
        return holdfast_lua_raise(L, "ERR wrong number or type of arguments");
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, field);
    return 1;
}

static inline int holdfast_lua_error_reply(lua_State *L) { return holdfast_lua_reply(L, "err"); }
static inline int holdfast_lua_status_reply(lua_State *L) { return holdfast_lua_reply(L, "ok"); }

// Nobody is forbidden anything here.
static inline int holdfast_lua_acl_check_cmd(lua_State *L) {
    lua_pushboolean(L, 1);
    return 1;
}

static inline void holdfast_lua_set(lua_State *L, const char *name, lua_CFunction function) {
    lua_pushcfunction(L, function);
    lua_setfield(L, -2, name);
}

static inline int holdfast_lua_prepare(lua_State *L) {
    static const struct { const char *name; lua_CFunction open; } libraries[] = {
        {"", luaopen_base}, {LUA_TABLIBNAME, luaopen_table}, {LUA_STRLIBNAME, luaopen_string},
        {LUA_MATHLIBNAME, luaopen_math}};
    for (size_t index = 0; index < sizeof libraries / sizeof *libraries; index++) {
        lua_pushcfunction(L, libraries[index].open);
        lua_pushstring(L, libraries[index].name);
        lua_call(L, 1, 0);
    }
    static const char *const forbidden[] = {
        "dofile", "loadfile", "load", "loadstring", "print", "collectgarbage", "newproxy", "require", "module"};
    for (size_t index = 0; index < sizeof forbidden / sizeof *forbidden; index++) {
        lua_pushnil(L);
        lua_setglobal(L, forbidden[index]);
    }
    lua_createtable(L, 0, 5);
    holdfast_lua_set(L, "call", holdfast_lua_call);
    holdfast_lua_set(L, "pcall", holdfast_lua_pcall);
    holdfast_lua_set(L, "error_reply", holdfast_lua_error_reply);
    holdfast_lua_set(L, "status_reply", holdfast_lua_status_reply);
    holdfast_lua_set(L, "acl_check_cmd", holdfast_lua_acl_check_cmd);
    lua_setglobal(L, "redis");
    // As in Redis: a forgotten `local` is a mistake, not a memory from script to script.
    static const char guard[] =
        "local error, tostring, rawset = error, tostring, rawset\n"
        "setmetatable(_G, {\n"
        "  __newindex = function() error('Attempt to modify a readonly table', 2) end,\n"
        "  __index = function(_, n) error('Script attempted to access nonexistent global variable ' .. tostring(n), 2) end,\n"
        "  __metatable = false })\n";
    if (luaL_loadbuffer(L, guard, sizeof guard - 1, "@guard")) return lua_error(L);
    lua_call(L, 0, 0);
    return 0;
}

// MARK: What scripts give back

static inline void holdfast_lua_encode(lua_State *L, holdfast_lua *lua, int depth) {
    luaL_checkstack(L, 4, "a result is nested too deeply");
    size_t count;
    const char *text;
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        text = lua_tolstring(L, -1, &count);
        holdfast_lua_put_text(lua, 'b', text, count);
        break;
    case LUA_TNUMBER: {
        lua_Number number = lua_tonumber(L, -1);
        // What is no number of 64 bits has no conversion in C.
        int fits = number >= -9223372036854774784.0 && number <= 9223372036854774784.0;
        holdfast_lua_put_number(lua, 'i', fits ? (int64_t)number : INT64_MIN);
        break;
    }
    case LUA_TBOOLEAN:
        if (lua_toboolean(L, -1)) holdfast_lua_put_number(lua, 'i', 1);
        else holdfast_lua_put(lua, "n", 1);
        break;
    case LUA_TTABLE: {
        if (depth > 16) luaL_error(L, "a result is nested too deeply");
        static const char *const fields[] = {"err", "ok"};
        for (int index = 0; index < 2; index++) {
            lua_pushstring(L, fields[index]);
            lua_rawget(L, -2);
            if (lua_type(L, -1) == LUA_TSTRING) {
                text = lua_tolstring(L, -1, &count);
                holdfast_lua_put_text(lua, index == 0 ? 'e' : 's', text, count);
                lua_pop(L, 1);
                return;
            }
            lua_pop(L, 1);
        }
        int64_t length = 0;
        for (;; length++) {
            lua_rawgeti(L, -1, (int)length + 1);
            int ends = lua_isnil(L, -1);
            lua_pop(L, 1);
            if (ends) break;
        }
        holdfast_lua_put_number(lua, 'a', length);
        for (int64_t index = 1; index <= length; index++) {
            lua_rawgeti(L, -1, (int)index);
            holdfast_lua_encode(L, lua, depth + 1);
            lua_pop(L, 1);
        }
        break;
    }
    default: holdfast_lua_put(lua, "n", 1);
    }
}

typedef struct {
    const char *digest, *source;
    size_t source_length;
    const char *const *texts; // keys, then arguments
    const size_t *lengths;
    int keys, count;
} holdfast_lua_request;

static inline void holdfast_lua_list(
    lua_State *L, const char *name, const holdfast_lua_request *request, int first, int end) {
    lua_pushstring(L, name);
    lua_createtable(L, end - first, 0);
    for (int index = first; index < end; index++) {
        lua_pushlstring(L, request->texts[index], request->lengths[index]);
        lua_rawseti(L, -2, index - first + 1);
    }
    lua_rawset(L, LUA_GLOBALSINDEX);
}

static inline int holdfast_lua_protected(lua_State *L) {
    holdfast_lua *lua = holdfast_lua_of(L);
    const holdfast_lua_request *request = (const holdfast_lua_request *)lua_touserdata(L, 1);
    holdfast_lua_list(L, "KEYS", request, 0, request->keys);
    holdfast_lua_list(L, "ARGV", request, request->keys, request->count);
    lua_getfield(L, LUA_REGISTRYINDEX, request->digest);
    int status = 0, is_sound = 1;
    if (!lua_isfunction(L, -1)) {
        lua_pop(L, 1);
        status = luaL_loadbuffer(L, request->source, request->source_length, "@user_script");
        is_sound = status == 0;
        if (is_sound) {
            lua_pushvalue(L, -1);
            lua_setfield(L, LUA_REGISTRYINDEX, request->digest);
        }
    }
    if (status == 0) status = lua_pcall(L, 0, 1, 0);
    lua->length = 0;
    if (status == 0) {
        holdfast_lua_encode(L, lua, 0);
        return 0;
    }
    if (lua_type(L, -1) == LUA_TTABLE) {
        lua_pushstring(L, "err");
        lua_rawget(L, -2);
    }
    size_t count = 0;
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &count) : NULL;
    int has_code = lua_type(L, -2) == LUA_TTABLE && text;
    if (!text) {
        text = "the script failed";
        count = strlen(text);
    }
    // What a command raised begins with a code already.
    const char *code = has_code ? "" : is_sound ? "ERR " : "ERR Error compiling script (new function): ";
    holdfast_lua_put_number(lua, 'e', (int64_t)(count + strlen(code)));
    holdfast_lua_put(lua, code, strlen(code));
    holdfast_lua_put(lua, text, count);
    return 0;
}

// MARK: What Swift calls

// NULL when there is no memory.
static inline holdfast_lua *holdfast_lua_new(size_t limit) {
    holdfast_lua *lua = (holdfast_lua *)calloc(1, sizeof *lua);
    if (!lua) return NULL;
    lua->limit = limit;
    lua->state = lua_newstate(holdfast_lua_allocate, lua);
    if (lua->state && lua_cpcall(lua->state, holdfast_lua_prepare, NULL) == 0) {
        lua_settop(lua->state, 0);
        return lua;
    }
    if (lua->state) lua_close(lua->state);
    free(lua);
    return NULL;
}

static inline void holdfast_lua_free(holdfast_lua *lua) {
    lua_close(lua->state);
    free(lua->bytes);
    free(lua);
}

// Runs a script; its result lies in `bytes` afterwards. False when there was no memory for it.
static inline int holdfast_lua_run(holdfast_lua *lua, holdfast_lua_request request, long ticks) {
    lua->ticks = ticks;
    lua->failed = 0;
    lua->length = 0;
    lua_sethook(lua->state, holdfast_lua_tick, LUA_MASKCOUNT, 1000);
    int status = lua_cpcall(lua->state, holdfast_lua_protected, &request);
    lua_sethook(lua->state, NULL, 0, 0);
    lua_settop(lua->state, 0);
    return status == 0 && !lua->failed && lua->length > 0;
}
