import type { GuardFinding, GuardVerdict } from "./guard-finding.ts"

/** Where a skill comes from decides what the guard's verdict means. */
export type SkillTrust = "builtin" | "trusted" | "community" | "agent-created"

export type GuardDecision = "allow" | "block" | "ask"

const POLICY: Readonly<Record<SkillTrust, Readonly<Record<GuardVerdict, GuardDecision>>>> = {
  builtin: { safe: "allow", caution: "allow", dangerous: "allow" },
  trusted: { safe: "allow", caution: "allow", dangerous: "block" },
  community: { safe: "allow", caution: "block", dangerous: "block" },
  "agent-created": { safe: "allow", caution: "allow", dangerous: "ask" },
}

/** `force` overrides a block because of caution, and the question about a skill of the agent; never a dangerous skill of others. */
export function guardDecision(
  { trust, verdict }: { readonly trust: SkillTrust; readonly verdict: GuardVerdict },
  force = false,
): GuardDecision {
  const decision = POLICY[trust][verdict]
  const isForceable = trust === "agent-created" || verdict === "caution"
  return force && isForceable ? "allow" : decision
}

/** Repositories whose skills are trusted: exactly these. */
const TRUSTED_REPOSITORIES: ReadonlySet<string> = new Set([
  "openai/skills",
  "anthropics/skills",
  "huggingface/skills",
  "nvidia/skills",
])

/** Decides by the repository that was really fetched, never by what a source says about itself. */
export function trustOfRepository(repository: string | undefined): SkillTrust {
  return repository !== undefined && TRUSTED_REPOSITORIES.has(repository.toLowerCase()) ? "trusted" : "community"
}

const MAX_LISTED = 12

/** One line per finding: where, what and the text. */
export function findingLines(findings: readonly GuardFinding[]): readonly string[] {
  const lines = findings.slice(0, MAX_LISTED).map(({ file, line, severity, id, match }) => {
    const where = file === "" ? "the skill" : line === 0 ? file : `${file}:${line}`
    return `${where}: ${severity} ${id}: ${match}`
  })
  const left = findings.length - lines.length
  return left === 0 ? lines : [...lines, `and ${left} more`]
}
