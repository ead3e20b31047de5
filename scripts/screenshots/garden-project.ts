/** The project that the pictures show, by relative path. */
export const GARDEN: Readonly<Record<string, string>> = {
  "README.md": "# Garden\n\nWhat grows where, and when it needs water.\n",
  "beds.csv": "bed,plant,litres\n1,tomatoes,12\n2,beans,6\n3,squash,9\n",
  "watering.py": `import csv


def litres(path):
    """How much water each bed needs."""
    with open(path) as file:
        return {row["plant"]: row["litres"] for row in csv.DictReader(file)}


def total(path):
    return sum(litres(path).values())
`,
  "check.py": `import watering

print(watering.total("beds.csv"), "litres")
`,
  "notes/spring.md": "Sow beans in May.\n",
  "notes/summer.md": "Water before nine.\n",
  "build/old.html": "<p>Last year</p>\n",
}

/** Fails before the fix. */
export const CHECK_COMMAND = "python3 check.py"

export const FIX = {
  path: "watering.py",
  old_string: `return {row["plant"]: row["litres"] for row in csv.DictReader(file)}`,
  new_string: `return {row["plant"]: int(row["litres"]) for row in csv.DictReader(file)}`,
} as const

export const ANSWER = `The beds need **27 litres** a day now. \`csv\` returns text, so \`sum\` failed; I convert it while reading:

\`\`\`python
def litres(path):
    """How much water each bed needs."""
    with open(path) as file:
        return {row["plant"]: int(row["litres"]) for row in csv.DictReader(file)}
\`\`\`

| Bed | Plant | Litres |
| --- | --- | ---: |
| 1 | tomatoes | 12 |
| 2 | beans | 6 |
| 3 | squash | 9 |

1. Run \`watering.total("beds.csv")\` to check it.
2. A bed without a number still raises \`ValueError\`. *Shall I skip such rows?*
`

export const PLAN = `# Water by weather

1. Read the rain of the last two days from \`rain.csv\`.
2. Subtract it from the litres of each bed, never below zero.
3. Print one line per bed, the driest first.

Risk: \`rain.csv\` does not exist yet; without it nothing is subtracted.
`
