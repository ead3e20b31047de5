import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

const FAILS = callsTool("terminal", { command: "sh build.sh" })
const WORKS = callsTool("terminal", { command: "sh build.sh --legacy-peer-deps" })
const SCRIPT =
  '[ "$1" = --legacy-peer-deps ] || { echo "npm error ERESOLVE unable to resolve dependency tree" >&2; exit 1; }\n'

/** One process with an error and its fix. */
const RUN = [FAILS, WORKS, says("Built.")]

test("the same error and fix in separate one-shots become a learning, which later ones show", async () => {
  await using model = await startModelServer([...RUN, ...RUN, ...RUN, ...RUN, FAILS, says("I know this one.")])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "build.sh": SCRIPT } })
  for (let run = 0; run < 4; run += 1) {
    expect((await hermes(home, ["-z", "build it"], { stdin: "inherit-null" })).code).toBe(0)
  }
  const stored = await readFile(join(home.path, "learnings.jsonl"), "utf8")
  expect(
    stored
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { tool: "terminal", source: "auto", error_type: "ERESOLVE", fix: expect.stringContaining("--legacy-peer-deps") },
  ])
  await hermes(home, ["-z", "build it"], { stdin: "inherit-null" })
  const last = JSON.stringify(model.requests.at(-1)?.body)
  expect(last).toContain("Similar to an earlier error")
  expect(last).toContain("What worked then: command `sh build.sh --legacy-peer-deps` instead of `sh build.sh`")
})

test("an error in one one-shot, its fix in the resumed one and the error again in the next are enough", async () => {
  await using model = await startModelServer([FAILS, says("It fails."), WORKS, says("Built."), FAILS, says("Again.")])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "build.sh": SCRIPT } })
  for (const more of [[], ["--continue"], ["--continue"]]) {
    const { code, stderr } = await hermes(home, [...more, "-z", "build it"], { stdin: "inherit-null" })
    expect([code, stderr]).toEqual([0, ""])
  }
  expect(await readFile(join(home.path, "learnings.jsonl"), "utf8")).toContain("--legacy-peer-deps")
  expect(JSON.stringify(model.requests.at(-1)?.body)).toContain("Similar to an earlier error")
})
