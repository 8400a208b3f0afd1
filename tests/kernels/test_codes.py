import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.sparse import csc_array
from tests import reference

from rankfactor.kernels.codes import MISSING, code_sparse, code_values, level_counts, look_up

values = st.one_of(st.just(float("nan")), st.floats(-5, 5).map(lambda x: round(x, 1)))


@given(arrays(np.float64, (9, 3), elements=values), st.lists(st.integers(-5, 5), unique=True))
def test_codes_count_the_cuts_below(table, points):
    cuts = np.array(sorted(points), float)
    width = len(cuts)
    out = np.empty((3, 9), np.uint8)
    rows = np.tile(cuts, (3, 1)).reshape(3, width)
    code_values(table, np.arange(3), rows, np.full(3, width), out)
    for i in range(3):
        assert_array_equal(out[i], reference.codes(table[:, i], cuts))


def test_columns_choose_features_across_tiles():
    table = np.random.default_rng(0).standard_normal((11, 300))
    columns = np.arange(299, -1, -2)
    cuts = np.sort(np.random.default_rng(1).standard_normal((len(columns), 4)), axis=1)
    out = np.empty((len(columns), 11), np.uint8)
    code_values(table, columns, cuts, np.full(len(columns), 4), out)
    expected = [reference.codes(table[:, c], cuts[i]) for i, c in enumerate(columns)]
    assert_array_equal(out, expected)


def test_counts_and_look_up_leave_missing_out():
    codes = np.array([[0, 2, MISSING, 2], [1, MISSING, MISSING, 0]], np.uint8)
    assert_array_equal(level_counts(codes, 3), [[1, 0, 2], [1, 1, 0]])
    table = np.array([[10.0, 20.0, 30.0], [1.0, 2.0, 3.0]])
    assert_array_equal(look_up(codes, table), [[10, 30, 0, 30], [2, 0, 0, 1]])


@given(arrays(np.float64, (9, 3), elements=values), st.lists(st.integers(-5, 5), unique=True))
def test_a_sparse_table_has_the_codes_of_the_dense_one(table, points):
    table = np.where(np.abs(table) < 2, 0.0, table)  # NaN stays
    cuts = np.array(sorted(points), float)
    rows, n_cuts = np.tile(cuts, (2, 1)).reshape(2, len(cuts)), np.full(2, len(cuts))
    columns = np.array([2, 0])
    dense, thin = np.empty((2, 9), np.uint8), np.empty((2, 9), np.uint8)
    code_values(table, columns, rows, n_cuts, dense)
    matrix = csc_array(table)
    code_sparse(matrix.data, matrix.indices, matrix.indptr, columns, rows, n_cuts, thin)
    assert_array_equal(thin, dense)
