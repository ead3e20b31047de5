import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { podmanMissing, startPodman } from "../../support/podman.ts"
import { sshdMissing, startSshd } from "../../support/sshd.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, manualClock, runToEnd } from "../assembled-app.ts"
import { openHands, QUIET } from "./hands.ts"

/** What the model reads when the ground goes away under its feet: a sentence it can act on, and nothing half-written. */

describe("the working directory", () => {
  test("removed between two calls: commands run in the nearest one and say so, files are told as missing", async () => {
    await using house = await assembleApp([], { config: QUIET })
    await using hands = await openHands(house)
    const { workdir } = house.home
    await hands.fields("terminal", { command: "mkdir -p a/b && cd a/b" })
    rmSync(join(workdir, "a"), { recursive: true })
    expect((await hands.fields("read_file", { path: "x" }))["error"]).toContain(`file not found: ${workdir}/a/b/x`)
    expect((await hands.fields("search_files", { pattern: "x" }))["error"]).toContain(`${workdir}/a/b`)
    expect(await hands.fields("terminal", { command: "pwd" })).toEqual({
      output: workdir,
      exit_code: 0,
      error: null,
      cwd_note: `The working directory ${workdir}/a/b does not exist any more; the command ran in ${workdir}.`,
    })
    expect(await hands.fields("write_file", { path: "x", content: "1" })).toMatchObject({ bytes_written: 1 })
    expect(readFileSync(join(workdir, "x"), "utf8")).toBe("1")
  })

  test("of the whole session removed, in the sandbox and outside: the next command still runs", async () => {
    for (const sandbox of ["off", "auto"]) {
      await using house = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox: ${sandbox}\n` })
      await using hands = await openHands(house)
      const { workdir } = house.home
      await hands.fields("terminal", { command: "true" })
      renameSync(workdir, `${workdir}-elsewhere`)
      const answer = await hands.fields("terminal", { command: "echo still here" })
      expect([sandbox, answer]).toEqual([
        sandbox,
        expect.objectContaining({ output: "still here", cwd_note: expect.stringContaining("does not exist any more") }),
      ])
    }
  })
})

test("a shell that dies is told by its signal, and the next call goes on in the same state", async () => {
  await using house = await assembleApp([], { config: QUIET })
  await using hands = await openHands(house)
  await hands.fields("terminal", { command: "export KEPT=yes" })
  expect(await hands.fields("terminal", { command: "echo said; kill -KILL $$" })).toMatchObject({
    output: "said",
    exit_code: 137,
  })
  expect(await hands.fields("terminal", { command: "exec no-such-program" })).toMatchObject({ exit_code: 127 })
  expect(await hands.fields("terminal", { command: "echo $KEPT" })).toMatchObject({ output: "yes", exit_code: 0 })
})

const mayMount = process.platform === "linux" && process.getuid?.() === 0

test.skipIf(!mayMount)(
  "a disk that is full in the middle of a patch: what was done is said, no file is half-written",
  async () => {
    await using house = await assembleApp([], { config: QUIET })
    const disk = join(house.home.workdir, "disk")
    mkdirSync(disk)
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", disk], { encoding: "utf8" })
    expect(mounted.stderr).toBe("")
    try {
      await using hands = await openHands(house)
      for (const name of ["a", "b", "c"]) writeFileSync(join(disk, name), `${name}1\n`)
      const large = `+${"x".repeat(60_000)}`
      const patch = [
        "*** Begin Patch",
        "*** Update File: disk/a",
        "-a1",
        "+a2",
        "*** Update File: disk/b",
        "-b1",
        large,
        "*** Update File: disk/c",
        "-c1",
        "+c2",
        "*** Add File: disk/new",
        "+n",
        "*** End Patch",
      ].join("\n")
      const answer = await hands.fields("patch", { mode: "patch", patch })
      expect(answer).toMatchObject({
        success: false,
        files_modified: [join(disk, "a")],
        error:
          "UPDATE 'disk/b': no space left on the disk. Stopped there; applied: UPDATE 'disk/a'; " +
          "not applied: UPDATE 'disk/b', UPDATE 'disk/c', ADD 'disk/new'. Check the diff before you go on.",
      })
      const left = Object.fromEntries(readdirSync(disk).map((name) => [name, readFileSync(join(disk, name), "utf8")]))
      expect(left).toEqual({ a: "a2\n", b: "b1\n", c: "c1\n" })
      expect((await hands.fields("write_file", { path: "disk/d", content: "x".repeat(80_000) }))["error"]).toBe(
        "cannot write disk/d: no space left on the disk; nothing was changed",
      )
      expect(readdirSync(disk).toSorted()).toEqual(["a", "b", "c"])
    } finally {
      spawnSync("umount", ["-l", disk])
    }
  },
)

const noPodman = podmanMissing()

test.skipIf(noPodman !== undefined)(
  "a container that vanishes: the running command says so, the next one has a new container",
  async () => {
    using engine = startPodman()
    await using house = await assembleApp([], {
      config: `${QUIET}terminal:\n  backend: docker\n  docker_image: ${engine.image}\n`,
      env: { HERMES_DOCKER_BINARY: engine.program },
    })
    await using hands = await openHands(house)
    await hands.fields("write_file", { path: "kept", content: "kept\n" })
    house.model.push(callsTool("terminal", { command: "echo begun; sleep 100" }), says("Oh."))
    await runToEnd(hands.session, "wait", (event) => {
      if (event.type === "tool-progress" && event.text.includes("begun"))
        engine.podman("rm", "--all", "--force", "-t", "0")
    })
    const lost = house.model.toolResults(house.model.requests.length - 1)[0]?.text ?? ""
    expect(JSON.parse(lost)).toMatchObject({
      output: "begun",
      exit_code: expect.any(Number),
      error: expect.stringMatching(/container.*look before you run it again/u),
    })
    // What is kept of a container are its files.
    expect(await hands.fields("read_file", { path: "kept" })).toMatchObject({ content: "1|kept" })
    await hands.fields("terminal", { command: "export GIVEN=1; echo 'export STARTED=2' >~/.bashrc" })
    engine.podman("rm", "--all", "--force", "-t", "0")
    const look = { command: "cat kept; echo [$GIVEN] [$STARTED]" }
    const again = await hands.fields("terminal", look)
    expect(again).toMatchObject({ output: "kept\n[] [2]", exit_code: 0 })
    expect(again["place_note"]).toMatch(/started anew: variables, functions and processes of before are lost/u)
    expect(await hands.fields("terminal", look)).toEqual({ output: "kept\n[] [2]", exit_code: 0, error: null })
  },
)

const noSshd = sshdMissing()

test.skipIf(noSshd !== undefined)(
  "an ssh link that drops: the running command says so, the next one has a new link; a server that is gone is named",
  async () => {
    await using server = await startSshd()
    const clock = manualClock()
    await using house = await assembleApp([], {
      clock,
      config:
        `${QUIET}terminal:\n  backend: ssh\n  ssh_host: 127.0.0.1\n  ssh_user: root\n  ssh_port: ${server.port}\n` +
        `  ssh_key: ${server.keyFile}\n  cwd: ${server.folder}\n`,
      env: server.clientEnvironment,
    })
    await using hands = await openHands(house)
    await hands.fields("terminal", { command: "export KEPT=yes; printf old >note" })
    house.model.push(callsTool("terminal", { command: "echo begun; sleep 100" }), says("Oh."))
    await runToEnd(hands.session, "wait", (event) => {
      if (event.type === "tool-progress" && event.text.includes("begun")) server.cutConnections()
    })
    const lost = house.model.toolResults(house.model.requests.length - 1)[0]?.text ?? ""
    expect(JSON.parse(lost)).toEqual({
      output: "begun",
      exit_code: -1,
      error:
        "the connection was lost while the command ran: the connection to root@127.0.0.1 broke; the next command opens a new one. " +
        "It may have done part of its work or still be running; look before you run it again",
    })
    expect(await hands.fields("terminal", { command: "echo $KEPT; cat note" })).toMatchObject({ output: "yes\nold" })

    await server.stop()
    const away =
      "root@127.0.0.1 cannot be reached: nothing listens on that port; check terminal.ssh_port and that sshd runs there"
    expect((await hands.fields("write_file", { path: "note", content: "new" }))["error"]).toContain(away)
    // Commands are tried again after a while; the clock is moved on until they give up.
    const state = { ended: false }
    const trying = hands.fields("terminal", { command: "cat note" }).finally(() => {
      state.ended = true
    })
    while (!state.ended) {
      clock.advance(1000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await trying).toEqual({ output: "", exit_code: -1, error: `the command was not run: ${away}` })
    expect(readFileSync(join(server.folder, "note"), "utf8")).toBe("old")
  },
)
