import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

import { expect, test } from "vitest"

import { assembleApp, runToEnd } from "../assembled-app.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"

const PER_SKILL = 20

/** The attacks of the permission corpus that fit into an inline snippet. In `/home/alice`, the home of the corpus, is nothing here. */
const ATTACKS = readFileSync(
  fileURLToPath(new URL("../../fixtures/permissions/attack-lines.jsonl", import.meta.url)),
  "utf8",
)
  .split("\n")
  .flatMap((line): readonly string[] => {
    const { command }: { readonly command?: unknown } = line === "" ? {} : Object(JSON.parse(line))
    return typeof command === "string" && command.length < 500 && !/[`\n]|\/home\/alice/u.test(command) ? [command] : []
  })
  .filter((_, index) => index % 7 === 0)

test("no attack runs as an inline command of a skill in plan mode", async () => {
  expect(ATTACKS.length).toBeGreaterThan(20)
  const skills = Array.from({ length: Math.ceil(ATTACKS.length / PER_SKILL) }, (_, index) =>
    ATTACKS.slice(index * PER_SKILL, (index + 1) * PER_SKILL),
  )
  await using app = await assembleApp(
    [...skills.map((_, index) => callsTool("skill_view", { name: `s${index}` })), says("ok")],
    {
      config: "skills:\n  inline_shell: true\n",
      files: {
        ".no-bundled-skills": "",
        ...Object.fromEntries(
          skills.map((commands, index) => [
            `skills/s${index}/SKILL.md`,
            `---\nname: s${index}\ndescription: Attack\n---\n${commands.map((command) => `!\`${command}\`\n`).join("")}`,
          ]),
        ),
      },
    },
  )
  const { events } = await runToEnd(await app.open({ permissionProfile: "plan", attended: false }), "go")
  const inner = events.flatMap((event) =>
    event.type === "tool-end" && event.call.name === "terminal" ? [event.outcome] : [],
  )
  expect(inner.length).toBe(ATTACKS.length)
  expect(inner.filter((outcome) => outcome === "ok")).toEqual([])
})
