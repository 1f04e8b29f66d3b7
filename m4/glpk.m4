# GLPK, for the fewest trees (tutti-trees): GLPK_LIBS, HAVE_GLPK. It may be missing.
AC_DEFUN([TUTTI_GLPK], [
  AC_CHECK_HEADER([glpk.h], [tutti_have_glpk=yes], [tutti_have_glpk=no])
  tutti_saved_LIBS=$LIBS
  if test $tutti_have_glpk = yes; then
    AC_CHECK_LIB([glpk], [glp_intopt], [GLPK_LIBS=-lglpk], [tutti_have_glpk=no])
  fi
  LIBS=$tutti_saved_LIBS
  AC_SUBST([GLPK_LIBS])
  AM_CONDITIONAL([HAVE_GLPK], [test $tutti_have_glpk = yes])
])
