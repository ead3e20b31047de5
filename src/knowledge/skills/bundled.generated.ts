// Written by scripts/generate-bundled-skills.ts from skills/; run `npm run generate` after changing a skill.
interface BundledSkills {
  readonly hash: string
  readonly categories: Readonly<Record<string, readonly string[]>>
}

export const BUNDLED_SKILLS: BundledSkills = {"hash":"1d91d0141f508704","categories":{"coding":["code-review","coding-agents","debugging","git-workflow","python-project","test-writing","typescript-project"],"data":["data-analysis","sql"],"documents":["diagrams","documents"],"hermes":["hermes-agent","plan"],"operations":["docker","incident-response","release-notes","security-review"],"research":["web-research"]}}
