import { describe, expect, test } from "vitest"
import { createCliHome } from "../../test/support/cli-home.ts"
import type { Command, Flag, Positional } from "./command.ts"
import { COMMAND_TREE } from "./command-table/command-tree.ts"

interface RunnableCommand {
  readonly words: readonly string[]
  readonly flags: readonly Flag[]
  readonly positionals: readonly Positional[]
}

/** Every command that has code in this release, with the flags that it accepts. */
const RUNNABLE = COMMAND_TREE.commands.flatMap((command) => runnable(command, { words: [], flags: [] }))

function runnable(command: Command, parent: Pick<RunnableCommand, "words" | "flags">): readonly RunnableCommand[] {
  const words = [...parent.words, command.name]
  const flags = [...parent.flags, ...(command.flags ?? [])]
  const own = command.load === undefined ? [] : [{ words, flags, positionals: command.positionals ?? [] }]
  return [...own, ...(command.subcommands ?? []).flatMap((child) => runnable(child, { words, flags }))]
}

/** A valid value for each declared argument. */
const valuesOf = (positionals: readonly Positional[]): readonly string[] =>
  positionals.map(({ choices }) => choices?.[0] ?? "x")

async function expectUsageError(line: readonly string[]): Promise<void> {
  using home = createCliHome()
  const { code, out, err } = await home.run(line)
  expect({ code, out }, line.join(" ")).toEqual({ code: 2, out: "" })
  expect(err.trim().split("\n"), line.join(" ")).toHaveLength(1)
}

describe.each(RUNNABLE.map((command) => [command.words.join(" "), command] as const))("%s", (_name, command) => {
  const { words, flags, positionals } = command
  const complete = [...words, ...valuesOf(positionals)]

  test("an unknown flag", async () => {
    await expectUsageError([...complete, "--no-such-flag"])
    await expectUsageError([...complete, "--no-such-flag=1"])
    await expectUsageError([...complete, "-%"])
  })

  test("an argument too many", async () => {
    if (positionals.at(-1)?.rest !== true) await expectUsageError([...complete, "rubbish"])
  })

  test("a missing argument", async () => {
    const required = positionals.filter((positional) => positional.required)
    for (let given = 0; given < required.length; given += 1) {
      await expectUsageError([...words, ...valuesOf(required.slice(0, given))])
    }
  })

  test("a value that its flag or argument does not take", async () => {
    for (const flag of flags) for (const bad of badValues(flag)) await expectUsageError([...complete, ...bad])
    for (const [index, { choices }] of positionals.entries()) {
      if (choices !== undefined) await expectUsageError([...words, ...valuesOf(positionals.slice(0, index)), "rubbish"])
    }
  })
})

function badValues({ name, value }: Flag): readonly (readonly string[])[] {
  switch (value.kind) {
    case "none":
      return [[`--${name}=1`]]
    case "integer":
      return ["rubbish", "1.5", "", "0x10", ...(value.min === undefined ? [] : [String(value.min - 1)])].map((bad) => [
        `--${name}=${bad}`,
      ])
    case "number":
      return ["rubbish", "", "-1"].map((bad) => [`--${name}=${bad}`])
    case "choice":
      return [[`--${name}`, "rubbish"], [`--${name}=`]]
    case "text":
      return [[`--${name}`]]
    default:
      return []
  }
}
