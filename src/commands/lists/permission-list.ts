import type { ChoiceList } from "../choice-list.ts"
import { namedChoiceList } from "./named-choice-list.ts"

/** The permission profiles of a session. */
export function permissionList(options: {
  readonly profiles: readonly string[]
  readonly current: string
}): ChoiceList<string> {
  return namedChoiceList({
    title: "Permission profile of this session",
    choices: options.profiles.map((name) => ({ name, description: DESCRIPTIONS[name] ?? "one of your own" })),
    current: options.current,
    hint: "Enter uses it until this session ends",
  })
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  plan: "reads only, and ends with a plan for you to approve",
  default: "asks before changes, except in the sandbox",
  "accept-edits": "changes files in the working directory without asking",
  auto: "a second model decides about what would be asked",
  "full-auto": "runs everything without asking",
}
