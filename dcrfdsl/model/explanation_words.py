"""Explanations in words, as `dcrfdsl why` prints them and a report shows them.

Not here: explanations themselves (`explanation`), printing.
"""

from __future__ import annotations

from .explanation import Contribution, Explanation


def contribution_words(one: Contribution) -> tuple[str, str, str, str]:
    """Clique, positions from 1, the states of either labelling, and the feature with its value."""
    places = " ".join(dict.fromkeys(str(position + 1) for _, position in one.sites))
    states = " / ".join(" ".join(of) for of in one.states)
    value = "" if one.value == 1.0 else f" × {one.value:.4g}"
    return one.clique, places, states, one.feature + value


def explanation_remarks(explanation: Explanation) -> list[str]:
    """What else changes with the other label, and whether both labellings are the best for sure."""
    first, second = explanation.labellings
    asked = explanation.label, explanation.position
    others = [
        f"{name}{'' if name in explanation.of_sentence else f' {t + 1}'} {first[name][t]} to {second[name][t]}"
        for name, t in explanation.changes
        if (name, t) != asked
    ]
    remarks = (
        [f"with {explanation.runner_up} there, the best labelling also changes {', '.join(others)}"] if others else []
    )
    if not explanation.exact:
        remarks.append("the two labellings come from approximate inference: better ones may exist")
    return remarks


def explanation_verdict(explanation: Explanation) -> list[str]:
    """Which features decide, in words."""
    if explanation.margin < 0:
        return [
            f"the best labelling with {explanation.runner_up} scores higher; {explanation.chosen} is likelier over all "
            "labellings together, which `decode marginal` goes by"
        ]
    if not explanation.decisive:
        return ["no features decide this alone: the other labelling stays behind without any of them"]
    names = ", ".join(f"`{one.feature}` ({one.clique} at {one.sites[0][1] + 1})" for one in explanation.decisive)
    many = "this feature" if len(explanation.decisive) == 1 else f"these {len(explanation.decisive)} features"
    if explanation.without == explanation.chosen:
        behind = f"without {many} this labelling falls behind that with {explanation.runner_up}"
        return [f"{behind}, but another one with {explanation.without} is ahead of both: {names}"]
    return [f"without {many} the label would be {explanation.without}: {names}"]
