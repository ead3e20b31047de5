import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { arch } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../../test/support/bubblewrap.ts"
import { titleWithReason } from "../../../test/support/skip-reason.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"
import { seccompFilter } from "./seccomp-filter.ts"

const run = promisify(execFile)
const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

test("there is a filter for the processors that Hermes runs on, and none for others", () => {
  const instructions = (processor: string): number | undefined => {
    const bytes = seccompFilter({ processor })?.length
    return bytes === undefined ? undefined : bytes / 8
  }
  expect([instructions("x64"), instructions("arm64"), instructions("mips")]).toEqual([41, 40, undefined])
})

describe.skipIf(missing !== undefined)(titleWithReason("a command under the filter", missing), () => {
  test.each([
    ["cannot listen on a Unix socket", `server.listen(process.argv[1] + "/own.sock")`, "EPERM"],
    ["cannot connect to a Unix socket", `net.connect(process.argv[1] + "/other.sock")`, "EPERM"],
    ["cannot use an abstract socket", `server.listen("\\0abstract")`, "EPERM"],
    ["can listen on a port", `server.listen(0, "127.0.0.1", () => done("listening"))`, "listening"],
    [
      "cannot create a user namespace",
      `done(child.spawnSync("unshare", ["--user", "true"]).stderr.toString())`,
      "unshare: unshare failed: Operation not permitted",
    ],
    [
      "cannot create a user namespace with clone",
      `done(child.execFileSync("perl", ["-e", "syscall(${arch() === "x64" ? 56 : 220}, 0x10000000 | 17, 0, 0, 0, 0) < 0 and print $!{EPERM} ? 'EPERM' : $!"]).toString())`,
      "EPERM",
    ],
    [
      "cannot have a datagram socket, which can be connected to others, but a pair of streams",
      `done(child.execFileSync("perl", ["-MSocket", "-e", "print socketpair(my $a, my $b, AF_UNIX, $_, 0) ? 'pair ' : $!{EPERM} ? 'EPERM ' : $! for SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET"]).toString())`,
      "pair EPERM EPERM pair",
    ],
    [
      "can start programs and talk to them",
      `done(child.execFileSync("/bin/echo", ["hello"]).toString().trim())`,
      "hello",
    ],
  ])("%s", async (_name, code, expected) => {
    await using home = await temporaryHome()
    const seccompFile = join(home.userHome, "filter.bpf")
    writeFileSync(seccompFile, seccompFilter() ?? "")
    const script = `
      const net = require("node:net"), child = require("node:child_process")
      const done = (text) => { console.log(text); process.exit(0) }
      process.on("uncaughtException", (error) => done(error.code))
      const server = net.createServer()
      const result = ${code}
      result?.on?.("error", (error) => done(error.code))`
    const [program, ...args] = [
      ...sandboxArguments({
        program: "program" in bubblewrap ? bubblewrap.program : "",
        writable: [home.userHome],
        readOnly: [],
        hidden: [],
        shown: [],
        network: true,
        cwd: "/",
        seccompFile,
      }),
      process.execPath,
      "-e",
      script,
      home.userHome,
    ]
    expect((await run(program, args)).stdout.trim()).toBe(expected)
  })
})
