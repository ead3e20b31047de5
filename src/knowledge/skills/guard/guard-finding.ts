/** What the guard found in a file or in the structure of a skill. */
export interface GuardFinding {
  readonly id: string
  readonly severity: Severity
  readonly category: GuardCategory
  /** Relative to the skill; "" for findings about the skill as a whole. */
  readonly file: string
  /** Counts from 1; 0 where no line is meant. */
  readonly line: number
  /** The text that was found, shortened. */
  readonly match: string
}

export type Severity = "critical" | "high" | "medium" | "low"

export type GuardCategory =
  | "exfiltration"
  | "injection"
  | "destructive"
  | "persistence"
  | "network"
  | "obfuscation"
  | "execution"
  | "traversal"
  | "mining"
  | "supply_chain"
  | "privilege_escalation"
  | "credential_exposure"
  | "structure"

export type GuardVerdict = "safe" | "caution" | "dangerous"

export function verdictOf(findings: readonly GuardFinding[]): GuardVerdict {
  if (findings.some(({ severity }) => severity === "critical")) return "dangerous"
  return findings.some(({ severity }) => severity === "high") ? "caution" : "safe"
}
