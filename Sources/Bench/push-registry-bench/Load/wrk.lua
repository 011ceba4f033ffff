-- The script for wrk 4.1. It sends the requests of a file, and prints the results as one line of JSON.
--
-- Arguments: the number of connections; then the file, the offset of its first request, the number of requests to send
-- (or "cyclic": the file again and again), and a text that the script finds in each expected response (or "counts": it
-- adds up the integer members). The length of each request precedes it in the file, in eight digits.
-- With only the first argument, wrk sends a GET for its URL, and parses no responses.

local ffi = require("ffi")
ffi.cdef [[
    struct wrk_time { long seconds, nanoseconds; };
    int clock_gettime(int clock, struct wrk_time *time);
    int getpid(void);
    int kill(int process, int signal);
]]
local CLOCK_MONOTONIC, SIGINT = 1, 2
local START_MILLISECONDS, FOREVER_MILLISECONDS = 50, 1e9

local time = ffi.new("struct wrk_time")
local function now()
    ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
    return tonumber(time.seconds) + tonumber(time.nanoseconds) / 1e9
end

-- wrk calls `setup` and `done` in one Lua state, and the other functions in the state of its thread.
local worker
function setup(thread) worker = thread end

function init(arguments)
    tally = { connections = tonumber(arguments[1]), sent = 0, received = 0, expected = 0, position = 0 }
    counts = {}
    if not arguments[2] then return end
    local file, start = assert(io.open(arguments[2], "rb")), tonumber(arguments[3])
    local count, expected = tonumber(arguments[4]), arguments[5]
    file:setvbuf("full", 65536)
    file:seek("set", start)

    local function read()
        local length = file:read(8)
        if not length then
            file:seek("set", 0)
            tally.position = 0
            length = file:read(8)
        end
        tally.position = tally.position + 8 + length
        return file:read(tonumber(length))
    end

    -- With a number of requests, each one follows a call of `delay`, except after a broken connection: then the last
    -- request is sent again, because wrk needs one.
    local reserved, last = 0, read()
    local function take()
        if not count or reserved > tally.sent then
            tally.begin = tally.begin or now()
            tally.sent = tally.sent + 1
            last = read()
        end
        return last
    end

    -- wrk parses the first request before it starts, and does not send it.
    function request()
        file:seek("set", start)
        tally.position, request = start, take
        return last
    end

    if expected ~= "" or count then
        function response(_, _, body)
            tally.received = tally.received + 1
            if count then tally.finish = now() end
            if expected == "counts" then
                for name, number in body:gmatch('"(%w+)":(%d+)') do counts[name] = (counts[name] or 0) + number end
            elseif body:find(expected, 1, true) then
                tally.expected = tally.expected + 1
            end
            if tally.received == count then ffi.C.kill(ffi.C.getpid(), SIGINT) end
        end
    end

    -- A connection that has no request left waits. The first ones wait until wrk's main thread handles SIGINT.
    if count then
        function delay()
            if reserved == count then return FOREVER_MILLISECONDS end
            reserved = reserved + 1
            return tally.begin and 0 or START_MILLISECONDS
        end
    end
end

function done(summary, latency)
    local tally, errors, items = worker:get("tally"), summary.errors, {}
    for name, number in pairs(worker:get("counts")) do items[#items + 1] = ('"%s":%d'):format(name, number) end
    local seconds = tally.finish and tally.finish - tally.begin or summary.duration / 1e6
    local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    print(('{"count":%d,"seconds":%f,"p99Milliseconds":%f,"failures":%d,"expected":%d,'
        .. '"sent":%d,"position":%d,"counts":{%s}}'):format(summary.requests, seconds,
        latency:percentile(99) / 1000, failures, tally.expected, tally.sent, tally.position, table.concat(items, ",")))
end
