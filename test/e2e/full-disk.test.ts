import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { startModelServer, type ModelServer } from "../support/model-server/server.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import { mountSmallDisk, noSmallDisk, type SmallDisk } from "../support/small-disk.ts"
import { temporaryHome, type TemporaryHome } from "../support/temporary-home.ts"
import { hermes, NO_SANDBOX, settingsFor, streamLines } from "./hermes-process.ts"

/** Part of the titles, so that the reason is printed. */
const SKIPPED = noSmallDisk === undefined ? "" : ` (skipped: ${noSmallDisk})`

const FULL = /The disk that holds the session database \S+ is full\. Free some space, then try again\./

interface HomeOnDisk extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly disk: SmallDisk
}

/** A home on a disk of its own. */
async function homeOnDisk(model: ModelServer): Promise<HomeOnDisk> {
  const outer = await temporaryHome()
  const disk = mountSmallDisk(join(outer.userHome, "disk"), "4m")
  const path = join(disk.path, "home")
  mkdirSync(path)
  writeFileSync(join(path, "config.yaml"), settingsFor(model, `  context_length: 100000\n${NO_SANDBOX}`))
  return {
    home: { ...outer, path, env: { ...outer.env, HERMES_HOME: path } },
    disk,
    [Symbol.asyncDispose]: async () => {
      disk[Symbol.dispose]()
      await outer[Symbol.asyncDispose]()
    },
  }
}

const setAside = ({ path }: TemporaryHome): readonly string[] =>
  readdirSync(path).filter((name) => /malformed|salvage|compact/.test(name))

const resultOf = (stdout: string): Record<string, unknown> => JSON.parse(stdout) as Record<string, unknown>

describe.skipIf(noSmallDisk !== undefined)(`a full disk${SKIPPED}`, () => {
  test("is named, is no damage, and gives no session id for what was not stored", async () => {
    await using model = await startModelServer([repeat(says("Hello."))])
    await using small = await homeOnDisk(model)
    const { home, disk } = small
    expect((await hermes(home, ["-z", "first"])).code).toBe(0)
    disk.fill()

    const json = await hermes(home, ["-z", "second", "--output-format", "json"])
    expect([json.code, json.stderr]).toEqual([0, expect.stringMatching(FULL)])
    expect(resultOf(json.stdout)).toMatchObject({ final_text: "Hello.", session_id: null })
    const stream = await hermes(home, ["-z", "second", "--output-format", "stream-json"])
    expect(streamLines(stream.stdout).at(-1)).toMatchObject({ type: "result", session_id: null })
    expect((await hermes(home, ["-Q", "-q", "second"])).stderr).not.toContain("session_id")

    expect((await hermes(home, ["sessions", "list"])).stdout).toContain("first")
    const repair = await hermes(home, ["sessions", "repair"])
    expect([repair.code, repair.stderr]).toEqual([1, expect.stringMatching(FULL)])
    const doctor = await hermes(home, ["doctor"])
    expect(doctor.code).toBe(1)
    expect(doctor.stdout).toMatch(/✗ the disk that holds \S+ is full, so conversations are not stored/)
    for (const { stdout, stderr } of [json, stream, repair, doctor]) expect(stdout + stderr).not.toContain("damaged")
    expect(setAside(home)).toEqual([])

    disk.free()
    const later = await hermes(home, ["-z", "third", "--output-format", "json"])
    expect([later.stderr, typeof resultOf(later.stdout)["session_id"]]).toEqual(["", "string"])
    expect((await hermes(home, ["sessions", "stats"])).stdout).toContain("Messages  4")
  })

  test("in the middle of a run ends it with one sentence, and the session can be continued", async () => {
    await using model = await startModelServer([
      callsTool("terminal", { command: 'cat /dev/zero > "$HERMES_HOME/../filling"; echo' }),
      repeat(says("Hello. ".repeat(20_000))),
    ])
    await using small = await homeOnDisk(model)
    const { home, disk } = small
    const run = await hermes(home, ["-z", "fill it", "--yolo", "--output-format", "json"])
    expect(run.code).toBe(1)
    expect(resultOf(run.stdout)).toMatchObject({ status: "error", error: { message: expect.stringMatching(FULL) } })
    disk.free()
    const id = String(resultOf(run.stdout)["session_id"])
    const resumed = await hermes(home, ["-z", "and now?", "--resume", id, "--output-format", "json"])
    expect([resumed.code, resultOf(resumed.stdout)["session_id"]]).toEqual([0, id])
    expect(setAside(home)).toEqual([])
  })
})

test.skipIf(noSmallDisk !== undefined)(
  `a read-only home is named, can be read, and stores nothing${SKIPPED}`,
  async () => {
    await using model = await startModelServer([repeat(says("Hello."))])
    await using small = await homeOnDisk(model)
    const { home, disk } = small
    expect((await hermes(home, ["-z", "first"])).code).toBe(0)
    disk.makeReadOnly()
    const json = await hermes(home, ["-z", "second", "--output-format", "json"])
    expect([json.code, json.stderr]).toEqual([0, expect.stringContaining("is on a read-only file system")])
    expect(resultOf(json.stdout)).toMatchObject({ final_text: "Hello.", session_id: null })
    expect((await hermes(home, ["sessions", "list"])).stdout).toContain("first")
    const doctor = await hermes(home, ["doctor"])
    expect(doctor.stdout).toMatch(/✗ \S+ is on a read-only file system, so conversations are not stored/)
    expect(doctor.stdout).not.toContain("damaged")
  },
)
