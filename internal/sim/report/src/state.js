// What is shown now.
export const state = { scenario: 0, range: [0, 1], variant: "", listed: -1, opened: false };
