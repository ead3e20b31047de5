import { computedEnds } from "../shell/computed-tail.ts"
import type { ShellWord } from "../shell/understood-command.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { isCredentialDirectory, isCredentialPath } from "./credential-paths.ts"
import { pathClass } from "./path-classes.ts"
import type { PathClass } from "./path-classes.ts"
import { hasGlob } from "./shell-glob.ts"

/**
 * The protected path that a word could name whose beginning is not known, compared by its end: `$(command)/.ssh/id_rsa`. Without such an end there is
 * none.
 */
export function computedForms({ text, pattern }: ShellWord, facts: CommandFacts): readonly string[] {
  if (!text.includes(".") && !text.includes("shadow") && !text.includes("id_")) return NONE
  const isElsewhere = /(?:^|\/)\.\.(?:\/|$)/u.test(text)
  for (const names of computedEnds(text)) {
    const end = names.join("/")
    // A star in quotes stands for itself, for example in a regular expression.
    const found = !pattern && hasGlob(end) ? undefined : protectedEnd(end, isElsewhere, facts)
    if (found !== undefined) return [found]
  }
  return NONE
}

const NONE: readonly string[] = []

function protectedEnd(end: string, isElsewhere: boolean, facts: CommandFacts): string | undefined {
  if (SYSTEM_SECRET.test(end)) return `/${end}`
  const path = `${facts.userHome}/${end}`
  if (!end.startsWith(".")) return !end.includes("/") && isCredentialPath(path, facts) ? path : undefined
  if (!isElsewhere && ALSO_IN_PROJECTS.test(end)) return undefined
  const found = pathClass(path, facts)
  const isProtected =
    (found !== undefined && PROTECTED.has(found)) || isCredentialPath(path, facts) || isCredentialDirectory(path, facts)
  return isProtected ? path : undefined
}

const PROTECTED: ReadonlySet<PathClass> = new Set<PathClass>([
  "hermes file",
  "hermes home",
  "user-sensitive",
  "start-up",
  "account credentials",
])
const SYSTEM_SECRET = /^(?:etc\/(?:g?shadow|sudoers|master\.passwd)|proc\/[^/]+\/environ)/u
/** Settings that projects have as well as the account. */
const ALSO_IN_PROJECTS =
  /^\.(?:aider|bundle|circleci|continue|copilot|cursor|docker|envrc|factory|gemini|hermes\/(?!(?:config|permissions)\.yaml|auth\.json|\.env)|jupyter|npmrc|qwen|sentryclirc|supabase|vercel|wrangler|yarnrc)/u
