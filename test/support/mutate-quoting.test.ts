import { execFileSync } from "node:child_process"
import { expect, test } from "vitest"
import { mutateQuoting } from "./mutate-quoting.ts"
import { seededRandom } from "./seeded-random.ts"

/** A function in the place of the program prints what it receives. */
const received = (lines: readonly string[]): readonly string[] =>
  execFileSync("bash", {
    input: `show() { printf '%s,' "$@"; echo; }\nls() { :; }\n${lines.join("\n")}\n`,
    encoding: "utf8",
    env: { HOME: "/home/alice", PATH: process.env["PATH"] ?? "" },
  })
    .split("\n")
    .filter((line) => line !== "")

test("a mutated line means the same to bash", () => {
  const random = seededRandom(18)
  const templates = [
    "show -rf /",
    "show -rf «~»",
    "show --recursive /home/alice",
    'show -rf «"$HOME"»/x.y_z',
    "show if=a of=/dev/sda1",
  ]
  const expected = [
    "-rf,/,",
    "-rf,/home/alice,",
    "--recursive,/home/alice,",
    "-rf,/home/alice/x.y_z,",
    "if=a,of=/dev/sda1,",
  ]
  for (const [index, template] of templates.entries()) {
    const lines = Array.from({ length: 300 }, () => mutateQuoting(template, random))
    expect(new Set(received(lines)), template).toEqual(new Set([expected[index]]))
    expect(received(lines)).toHaveLength(300)
  }
})
